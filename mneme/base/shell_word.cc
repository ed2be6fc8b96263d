#include "mneme/base/shell_word.h"

#include <algorithm>

namespace mneme {

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:=+@%#").find(c) != std::string_view::npos;
  };
  // '#' begins a comment where it begins a word.
  if (!word.empty() && word[0] != '#' && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace mneme
