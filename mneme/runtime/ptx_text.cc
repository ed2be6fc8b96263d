// Kernels and variables of PTX text, as far as a recorder has to know them: the text is taken apart into statements, no further.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "mneme/runtime/device_code.h"

namespace mneme {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%'; }

// The words and single other characters of PTX, without comments.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Empty at the end of the text.
  std::string_view next() {
    skip_blanks();
    if (at_ >= text_.size()) return {};
    size_t end = at_ + 1;
    if (text_[at_] == '"')
      end = std::min(text_.find('"', end), text_.size() - 1) + 1;
    else if (in_word(text_[at_]))
      while (end < text_.size() && in_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_.compare(at_, 2, "//") == 0)
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (text_.compare(at_, 2, "/*") == 0)
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      else if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else
        return;
    }
  }
  std::string_view text_;
  size_t at_ = 0;
};

// In bytes, of ".u32" or ".b8"; 0 for any other word.
uint64_t size_of_type(std::string_view word) {
  constexpr std::string_view kKinds = "busf";
  unsigned bits = 0;
  if (word.size() < 3 || word[0] != '.' || kKinds.find(word[1]) == kKinds.npos) return 0;
  const auto [end, failed] = std::from_chars(word.data() + 2, word.data() + word.size(), bits);
  return failed == std::errc() && end == word.data() + word.size() ? bits / 8 : 0;
}

bool is_of_texture(std::string_view word) {
  constexpr std::string_view kInstructions[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq."};
  return std::ranges::any_of(kInstructions, [&](std::string_view one) { return word.starts_with(one); });
}

uint64_t number(std::string_view word) {
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

// The initial value of a variable, behind its "=". Returns what is behind it: "," or ";".
std::string_view skip_value(Words& words) {
  int depth = 0;
  std::string_view word = words.next();
  for (; !word.empty() && (depth != 0 || (word != "," && word != ";")); word = words.next()) {
    if (word == "{") ++depth;
    if (word == "}") --depth;
  }
  return word;
}

// The declaration of variables, behind its ".global" or ".const": attributes, type, then the name and the extents of each.
void read_variables(Words& words, bool constant, PtxModule& out) {
  CubinVariable variable{{}, 0, 1, constant};
  uint64_t elements = 1, size = 0;
  bool in_extent = false;
  const auto add = [&] {
    variable.size = size * elements;
    if (!variable.name.empty() && variable.size != 0) out.variables.push_back(variable);
    variable.name.clear();
    elements = 1;
  };
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "=") word = skip_value(words);
    if (word.empty() || word == ";") break;
    if (word == ".align") {
      variable.alignment = static_cast<uint32_t>(std::clamp<uint64_t>(number(words.next()), 1, 4096));
    } else if (word == ".managed") {
      variable.managed = true;
    } else if (const uint64_t bytes = size_of_type(word); bytes != 0) {
      size = bytes;
    } else if (word == "[" || word == "]") {
      in_extent = word == "[";
    } else if (word == ",") {
      add();
    } else if (in_extent) {
      elements *= number(word);
    } else if (size != 0 && in_word(word[0]) && word[0] != '.' && variable.name.empty()) {
      variable.name = word;
    }
  }
  add();
}

}  // namespace

PtxModule read_ptx(std::string_view text, std::string_view kernel) {
  PtxModule out;
  Words words(text);
  int depth = 0;
  bool counts = false;    // the body that is read is the kernel's, or that of a function that it may call
  bool declares = false;  // in the head of a function
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") {
      ++depth;
      declares = false;
    } else if (word == "}") {
      --depth;
    } else if (word == ";") {
      declares = declares && depth != 0;
    } else if (depth == 0 && word == ".entry") {
      counts = words.next() == kernel;
      declares = true;
    } else if (depth == 0 && word == ".func") {
      counts = true;
      declares = true;
    } else if (depth == 0 && !declares && (word == ".global" || word == ".const")) {
      read_variables(words, word == ".const", out);
    } else if (depth > 0 && counts) {
      out.allocates = out.allocates || word == "malloc" || word == "free";
      out.uses_textures = out.uses_textures || is_of_texture(word);
      out.launches = out.launches || word.starts_with("__cudaCDP2") || word.starts_with("cudaLaunchDevice");
    }
  }
  std::sort(out.variables.begin(), out.variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace mneme
