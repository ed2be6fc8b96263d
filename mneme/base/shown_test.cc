#include "mneme/base/shown.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "mneme/base/log.h"

namespace mneme {
namespace {

using namespace std::string_literals;

TEST(Shown, LeavesOrdinaryTextAsItIs) {
  EXPECT_EQ(shown("vecadd(float*, int)"), "vecadd(float*, int)");
  EXPECT_EQ(shown("größe_内核_🙂"), "größe_内核_🙂");
  EXPECT_EQ(shown(""), "");
}

TEST(Shown, EscapesControlCharacters) {
  EXPECT_EQ(shown("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(shown("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(shown("a\0b"s), "a\\x00b");
  EXPECT_EQ(shown("\x7f"), "\\u007f");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J"),
            "\\u009b2J");  // the C1 form of ESC [
}

TEST(Shown, EscapesWhatTurnsTheDirectionPartsLinesOrIsNotSeen) {
  EXPECT_EQ(shown("abc\u202ecba"), "abc\\u202ecba");
  EXPECT_EQ(shown("\u2066\u2069\u200e\u200f\u061c"), "\\u2066\\u2069\\u200e\\u200f\\u061c");
  EXPECT_EQ(shown("\u2028\u2029\u200b\ufeff\u00ad"), "\\u2028\\u2029\\u200b\\ufeff\\u00ad");
}

TEST(Shown, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(shown("\xff\x80"), "\\xff\\x80");
  EXPECT_EQ(shown("\xc3"), "\\xc3");                             // cut short
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf");                    // "/" in a longer form
  EXPECT_EQ(shown("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");           // C1 in a longer form
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // behind the last character
  EXPECT_EQ(shown("\xe2\x82z"), "\\xe2\\x82z");
}

TEST(Shown, CutsWhatIsLong) {
  EXPECT_EQ(shown("0123456789", 10), "0123456789");
  EXPECT_EQ(shown("0123456789a", 10), "0123456...");
  EXPECT_EQ(shown("ääääääääää", 10), "ääääääääää");
  EXPECT_EQ(shown("äääääääääää", 10), "äääääää...");
  EXPECT_EQ(shown("012345\x1b"
                  "6789",
                  10),
            "012345...");  // no escape is cut in two
  EXPECT_EQ(shown(std::string(5000, 'x')).size(), kShownLength);
  EXPECT_EQ(shown(std::string(5000, 'x'), 0).size(), 5000u);
}

TEST(ShownLines, KeepsLineFeedsAndTabsAndCutsNothing) {
  EXPECT_EQ(shown_lines("a\n\tb\n"), "a\n\tb\n");
  EXPECT_EQ(shown_lines("a\x1b[2Kb\rc\n"), "a\\x1b[2Kb\\rc\n");
  EXPECT_EQ(shown_lines(std::string(100'000, 'x')).size(), 100'000u);
}

TEST(ShownMessage, HasNoLineThatLooksLikeAnother) {
  EXPECT_EQ(shown_message("there are\n  a\n  b"), "there are\n  a\n  b");
  EXPECT_EQ(shown_message("x\nmneme: error: forged\n"), "x\n  mneme: error: forged");
  EXPECT_EQ(shown_message("x\n\ny"), "x\n\n  y");
  EXPECT_EQ(shown_message(std::string(9000, 'x')).size(), kShownLineLength);
}

TEST(ShownMessage, LinesThatAreIndentedStayAsTheyAre) { EXPECT_EQ(shown_message("a\n b\n\tc\nd\n"), "a\n b\n\tc\n  d"); }

TEST(ShownMessage, IsHowMessagesAreWritten) {
  ::testing::internal::CaptureStderr();
  log::error("reading {}: no such file", "a\x1b]0;title\x07\nmneme: recorded 2 launches");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: error: reading a\\x1b]0;title\\x07\n  mneme: recorded 2 launches: no such file\n");
}

}  // namespace
}  // namespace mneme
