// PtxWords: PTX text taken apart into words and marks.
#pragma once

#include <algorithm>
#include <string_view>

namespace mneme {

// Reads the words and marks of PTX, and leaves comments out. Views into the text.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  // The next word, text in quotation marks, or mark of one character; empty at the end.
  std::string_view next() {
    skip_blanks();
    begin_ = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1;
    } else if (at_ < text_.size() && !is_word(text_[at_])) {
      ++at_;
    } else {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return text_.substr(begin_, at_ - begin_);
  }
  size_t begin() const { return begin_; }  // of the last word
  size_t end() const { return at_; }
  // Goes on behind the end of the line.
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // A letter or other character of a word, as of a name, a number or an instruction with its types.
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.' ||
           c == '%';
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//"))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (rest.starts_with("/*"))
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      else if (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\n' || rest.front() == '\r')
        ++at_;
      else
        return;
    }
  }

  std::string_view text_;
  size_t at_, begin_ = 0;
};

}  // namespace mneme
