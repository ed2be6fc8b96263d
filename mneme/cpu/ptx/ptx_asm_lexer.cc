#include "mneme/cpu/ptx/ptx_asm_lexer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace mneme::ptx {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, unsigned unique) : text_(text), unique_(unique) {}

  Result<std::vector<Token>> run() {
    while (true) {
      MNEME_TRY(skip_space());
      if (at_ >= text_.size()) break;
      Token token;
      token.begin = at_;
      MNEME_TRY(lex(token));
      token.end = at_;
      tokens_.push_back(std::move(token));
    }
    tokens_.push_back({Token::Kind::end, "", 0, text_.size(), text_.size()});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Status bad(std::string_view what) const {
    return error(Code::invalid_argument, "inline PTX '{}': {} at offset {}", text_, what, at_);
  }

  Status skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(peek()))) {
        ++at_;
      } else if (peek() == '/' && peek(1) == '/') {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) return bad("a comment that does not end");
        at_ = close + 2;
      } else {
        break;
      }
    }
    return {};
  }

  Status lex(Token& token) {
    char c = peek();
    if (c == '$' && (std::isdigit(static_cast<unsigned char>(peek(1))) || (peek(1) == '{' && peek(2) != ':')))
      return argument(token);
    bool after_dot = !tokens_.empty() && tokens_.back().text == "." && tokens_.back().kind == Token::Kind::punctuation;
    if (after_dot && is_word(c)) return identifier(token, true);
    if (std::isdigit(static_cast<unsigned char>(c))) return number(token);
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%') return identifier(token, false);
    if (c == '"') {
      size_t close = text_.find('"', at_ + 1);
      if (close == std::string_view::npos) return bad("a string that does not end");
      token = {Token::Kind::string, std::string(text_.substr(at_ + 1, close - at_ - 1)), 0, at_, 0};
      at_ = close + 1;
      return {};
    }
    if (!std::strchr("{}()[],;:.|!@+-~=<>*&", c)) return bad("an unexpected character");
    token.kind = Token::Kind::punctuation;
    token.text = c;
    ++at_;
    return {};
  }

  Status argument(Token& token) {
    token.kind = Token::Kind::argument;
    bool braced = peek(1) == '{';
    at_ += braced ? 2 : 1;
    if (!std::isdigit(static_cast<unsigned char>(peek()))) return bad("no operand number after '$'");
    while (std::isdigit(static_cast<unsigned char>(peek())))
      token.value = token.value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
    if (!braced) return {};
    if (peek() == ':')  // a modifier of how it is printed; operands are values here
      while (at_ < text_.size() && peek() != '}') ++at_;
    if (peek() != '}') return bad("no '}' after an operand number");
    ++at_;
    return {};
  }

  Status identifier(Token& token, bool modifier) {
    token.kind = Token::Kind::identifier;
    if (peek() == '%') token.text += text_[at_++];
    while (at_ < text_.size()) {
      if (is_word(peek())) {
        token.text += text_[at_++];
      } else if (peek() == '$' && peek(1) == '$') {
        token.text += '$';
        at_ += 2;
      } else if (text_.substr(at_, 7) == "${:uid}") {
        token.text += std::to_string(unique_);
        at_ += 7;
      } else if (modifier && peek() == ':' && peek(1) == ':') {
        token.text += "::";
        at_ += 2;
      } else {
        break;
      }
    }
    if (token.text.empty() || token.text == "%") return bad("a name was expected");
    return {};
  }

  Status number(Token& token) {
    const char* begin = text_.data() + at_;
    if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D')) {
      bool single = std::tolower(peek(1)) == 'f';
      size_t digits = single ? 8 : 16;
      std::string hex(text_.substr(at_ + 2, digits));
      if (hex.size() != digits || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return bad("a malformed float");
      token.kind = single ? Token::Kind::real32 : Token::Kind::real64;
      token.value = std::strtoull(hex.c_str(), nullptr, 16);
      at_ += 2 + digits;
      return {};
    }
    size_t length = 0;
    bool hex = begin[0] == '0' && (peek(1) == 'x' || peek(1) == 'X');
    while (is_word(peek(length)) || (!hex && (peek(length) == '.' || ((peek(length) == '+' || peek(length) == '-') &&
                                                                      std::tolower(peek(length - 1)) == 'e'))))
      ++length;
    std::string digits(begin, length);
    at_ += length;
    if (!hex && digits.find_first_of(".eE") != std::string::npos) {
      char* stop = nullptr;
      double value = std::strtod(digits.c_str(), &stop);
      if (*stop) return bad("a malformed float");
      token.kind = Token::Kind::real64;
      std::memcpy(&token.value, &value, sizeof value);
      return {};
    }
    if (digits.back() == 'U' || digits.back() == 'u') digits.pop_back();
    bool binary = digits.size() > 2 && digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');
    char* stop = nullptr;
    token.kind = Token::Kind::integer;
    token.value = std::strtoull(digits.c_str() + (binary ? 2 : 0), &stop, binary ? 2 : 0);
    if (*stop) return bad("a malformed number");
    return {};
  }

  std::string_view text_;
  unsigned unique_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, unsigned unique) { return Lexer(text, unique).run(); }

}  // namespace mneme::ptx
