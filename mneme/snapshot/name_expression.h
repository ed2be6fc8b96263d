// NameExpression: the regular expression that selects kernels by their name (`mneme record --kernels`).
//
// It has the syntax of ECMAScript, and may match anywhere in the name. Matching happens in the recorded program, so it must be
// fast whatever the name and the expression are: it never backtracks, and its time grows only with the product of their lengths.
// What would need backtracking is refused: back-references (\\1) and look-ahead ((?=…), (?!…)).
#pragma once

#include <regex>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

class NameExpression {
 public:
  // invalid_argument: it is no expression, or one that is refused; the message says why.
  static Result<NameExpression> parse(const std::string& text);

  // Of a very long name, only the beginning is looked at.
  bool is_found_in(const std::string& name) const;

 private:
  explicit NameExpression(std::regex expression) : expression_(std::move(expression)) {}
  std::regex expression_;
};

}  // namespace mneme
