#include "mneme/snapshot/name_expression.h"

#include <algorithm>

#include "mneme/base/shown.h"

namespace mneme {
namespace {

constexpr size_t kLongestName = 2000;
constexpr std::ptrdiff_t kMostGroups = 1000;  // the library goes down into them

// Look-ahead is what the library would allow, and a search of its own at every place.
bool looks_ahead(const std::string& text) {
  bool in_class = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (in_class) {
      in_class = text[i] != ']';
    } else if (text[i] == '[') {
      in_class = true;
    } else if (text.compare(i, 3, "(?=") == 0 || text.compare(i, 3, "(?!") == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<NameExpression> NameExpression::parse(const std::string& text) {
  if (std::count(text.begin(), text.end(), '(') > kMostGroups)
    return error(Code::invalid_argument, "'{}' is no regular expression that can be used: it has more than {} groups",
                 shown(text, 80), kMostGroups);
  if (looks_ahead(text))
    return error(Code::invalid_argument,
                 "'{}' is no regular expression that can be used: look-ahead, (?=...) and (?!...), is not "
                 "supported",
                 text);
  // The library's executor that does not go back; its ordinary one is a search with as many steps as it likes.
  constexpr auto kNeverBack = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
  try {
    const std::regex alone(text, kNeverBack);  // parsed by itself, so that no bracket of it closes the group below
    // A search would begin anew at every character: with all places in the expression the name is read once.
    return NameExpression(std::regex("[\\s\\S]*?(?:" + text + ")", kNeverBack));
  } catch (const std::regex_error& failure) {
    if (failure.code() == std::regex_constants::error_complexity)
      return error(Code::invalid_argument,
                   "'{}' is no regular expression that can be used: back-references, as \\1, are not supported", text);
    return error(Code::invalid_argument, "'{}' is no regular expression: {}", text, failure.what());
  }
}

bool NameExpression::is_found_in(const std::string& name) const {
  return std::regex_search(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(std::min(name.size(), kLongestName)),
                           expression_, std::regex_constants::match_continuous);
}

}  // namespace mneme
