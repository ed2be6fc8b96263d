#include "mneme/snapshot/name_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

bool found(const std::string& expression, const std::string& name) {
  auto parsed = NameExpression::parse(expression);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() && parsed->is_found_in(name);
}

TEST(NameExpression, IsFoundAnywhereInTheName) {
  const std::string name = "void physics::step<float>(float*, int)";
  for (const char* expression : {"step", "^void", "int\\)$", "st[aeiou]p", "step<(float|double)>", "(a|b|s)tep", "p{1}h",
                                 "\\bstep\\b", "[^a]tep", "s.*p", "s.*?p", "(?:st)ep", "[(?=]", "[a(?=]", "[\\](?=]"})
    EXPECT_TRUE(found(expression, name)) << expression;
  for (const char* expression : {"Step", "^step", "step$", "st[xyz]p", "(st){2}"})
    EXPECT_FALSE(found(expression, name)) << expression;
}

// Each of these takes for ever where matching goes back.
TEST(NameExpression, NeverGoesBack) {
  const std::string name(2000, 'a');
  for (const char* expression : {"(.*)*q", "(a+)+q", "(a|aa)+q", "(a*)*(a*)*q", "(.*)(.*)(.*)(.*)(.*)(.*)q"})
    EXPECT_FALSE(found(expression, name)) << expression;
}

TEST(NameExpression, SaysWhatItRefuses) {
  const auto refusal = [](const std::string& text) { return NameExpression::parse(text).status().to_string(); };
  EXPECT_EQ(refusal("(a)\\1"),
            "invalid_argument: '(a)\\1' is no regular expression that can be used: back-references, as \\1, are not supported");
  for (const char* text : {"(?=a)a", "(?!a)b", "[a](?=b)", "\\\\(?=b)", "\\[(?=b)]"})
    EXPECT_EQ(refusal(text),
              std::string("invalid_argument: '") + text +
                  "' is no regular expression that can be used: look-ahead, (?=...) and (?!...), is not supported");
  EXPECT_EQ(refusal("(").find("invalid_argument: '(' is no regular expression: "), 0u);
  EXPECT_EQ(refusal("a)|(b").find("invalid_argument: 'a)|(b' is no regular expression: "), 0u);
  EXPECT_EQ(refusal("\\(?=a"), "ok");
  EXPECT_THAT(refusal(std::string(50'000, '(') + std::string(50'000, ')')),
              testing::EndsWith(" is no regular expression that can be used: it has more than 1000 groups"));
}

TEST(NameExpression, HasAThousandGroupsAtMost) {
  const auto groups = [](size_t count) { return std::string(count, '(') + "a" + std::string(count, ')'); };
  EXPECT_TRUE(found(groups(1000), "a"));
  EXPECT_EQ(NameExpression::parse(groups(1001)).status().code(), Code::invalid_argument);
}

TEST(NameExpression, IsLookedForInTwoThousandCharacters) {
  EXPECT_TRUE(found("b$", std::string(1999, 'a') + "b"));
  EXPECT_FALSE(found("b", std::string(2000, 'a') + "b"));
}

}  // namespace
}  // namespace mneme
