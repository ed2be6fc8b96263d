#include "mneme/compile/nvptx/joined_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mneme::nvptx {
namespace {

// Reads the words that stand outside of parentheses and braces; each of these counts as one word, which is its first character.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Empty: there is no further word, or a bracket is not closed.
  std::string_view next() {
    skip_space();
    if (at_ >= text_.size()) return {};
    const size_t begin = at_;
    if (text_[at_] == '(' || text_[at_] == '{') return skip_brackets() ? text_.substr(begin, 1) : std::string_view();
    constexpr std::string_view kEnds = " \t\r\n(){},;";
    at_ = std::min(text_.find_first_of(kEnds, at_), text_.size());
    if (at_ == begin) ++at_;  // a comma, for one
    return text_.substr(begin, at_ - begin);
  }
  size_t place() const { return at_; }

 private:
  void skip_space() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (text_.substr(at_, 2) == "//")
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (text_.substr(at_, 2) == "/*")
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      else
        return;
    }
  }
  bool skip_brackets() {
    int open = 0;
    do {
      skip_space();
      if (at_ >= text_.size()) return false;
      const char c = text_[at_++];
      open += (c == '(' || c == '{') - (c == ')' || c == '}');
    } while (open > 0);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// What may stand between a kernel's parameters and its body: directives, and their values.
bool is_of_launch(std::string_view word) {
  constexpr std::array<std::string_view, 4> kDirectives = {".maxntid", ".reqntid", ".minnctapersm", ".maxnreg"};
  return word == "," || std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; }) ||
         std::ranges::find(kDirectives, word) != kDirectives.end();
}

}  // namespace

std::optional<LoneKernel> find_lone_kernel(std::string_view ptx) {
  Words words(ptx);
  LoneKernel kernel;
  for (auto [directive, value] : {std::pair(".version", &kernel.version), std::pair(".target", &kernel.target),
                                  std::pair(".address_size", &kernel.address_size)}) {
    if (words.next() != directive) return std::nullopt;
    *value = words.next();
  }
  const size_t behind_head = words.place();
  if (words.next() != ".visible" || words.next() != ".entry") return std::nullopt;
  kernel.name = words.next();
  if (kernel.name.empty()) return std::nullopt;
  std::string_view word = words.next();
  if (word == "(") word = words.next();
  while (!word.empty() && word != "{" && is_of_launch(word)) word = words.next();
  if (word != "{" || words.place() > ptx.size()) return std::nullopt;
  if (!words.next().empty() || words.place() < ptx.size()) return std::nullopt;  // another follows
  const size_t name = static_cast<size_t>(kernel.name.data() - ptx.data());
  kernel.before = ptx.substr(behind_head, name - behind_head);
  kernel.after = ptx.substr(name + kernel.name.size());
  return kernel;
}

bool can_be_joined(const LoneKernel& a, const LoneKernel& b) {
  return a.version == b.version && a.target == b.target && a.address_size == b.address_size;
}

std::string joined_name(size_t place) { return fmt::format("mneme_joined_{}", place); }

std::string join_ptx(std::span<const LoneKernel> kernels) {
  const LoneKernel& first = kernels.front();
  std::string text = fmt::format(".version {}\n.target {}\n.address_size {}\n", first.version, first.target, first.address_size);
  for (size_t i = 0; i < kernels.size(); ++i)
    text += fmt::format("{}{}{}\n", kernels[i].before, joined_name(i), kernels[i].after);
  return text;
}

}  // namespace mneme::nvptx
