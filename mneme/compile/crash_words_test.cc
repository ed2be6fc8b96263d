#include "mneme/compile/crash_words.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(CrashWords, TellThePassThatRan) {
  const CrashWords words = read_crash_words(
      "Loop info for function 'f':\nLLVM ERROR: this cannot be\n"
      "PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace.\n"
      "Stack dump:\n"
      "0.\tRunning pass \"function(gvn)\" on module \"m\"\n"
      "1.\tRunning pass \"gvn\" on function \"f\"\n"
      " #0 0x00007f1 (/usr/lib/libLLVM.so)\n");
  EXPECT_EQ(words.pass, "pass \"gvn\" on function \"f\"");
  EXPECT_EQ(words.before, "Loop info for function 'f':\nLLVM ERROR: this cannot be\n");
}

TEST(CrashWords, OfOneThatSaidNothingAreEmpty) {
  EXPECT_EQ(read_crash_words("").pass, "");
  EXPECT_EQ(read_crash_words("").before, "");
  EXPECT_EQ(read_crash_words("Killed\n").pass, "");
  EXPECT_EQ(read_crash_words("Killed\n").before, "Killed\n");
}

TEST(CrashWords, AreThoseOfTheLastDumpAndOfAReasonableLength) {
  const CrashWords words = read_crash_words("Stack dump:\n0.\tRunning pass \"first\"\nStack dump:\n0.\tRunning pass \"" +
                                            std::string(400, 'x') + "\"\n");
  EXPECT_EQ(words.pass, "pass \"" + std::string(294, 'x'));
  EXPECT_EQ(words.before, "Stack dump:\n0.\tRunning pass \"first\"\n");
}

}  // namespace
}  // namespace mneme
