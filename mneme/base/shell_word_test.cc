#include "mneme/base/shell_word.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldChangeIt) {
  for (const char* plain : {"scale", "db/2860ab17.json", "scale#0,2", "a=b", "x@y:z+%"}) EXPECT_EQ(shell_word(plain), plain);
  EXPECT_EQ(shell_word("scale<float>"), "'scale<float>'");
  EXPECT_EQ(shell_word("f(int*, int)"), "'f(int*, int)'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word("#1"), "'#1'") << "a comment";
  EXPECT_EQ(shell_word("~/db"), "'~/db'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace mneme
