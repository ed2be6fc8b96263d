// NameExpression: the regular expression that selects kernels by their name (`mneme record --kernels`).
//
// ECMAScript's, found anywhere in the name. Matching never goes back, so that its time grows with the length of the name and of
// the expression and no further, whatever both are: it happens in the recorded program. What needs going back is refused:
// back-references (\\1) and look-ahead ((?=…), (?!…)).
#pragma once

#include <regex>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

class NameExpression {
 public:
  // invalid_argument, naming what is wrong with it.
  static Result<NameExpression> parse(const std::string& text);

  // Of a very long name the begin counts.
  bool is_found_in(const std::string& name) const;

 private:
  explicit NameExpression(std::regex expression) : expression_(std::move(expression)) {}
  std::regex expression_;
};

}  // namespace mneme
