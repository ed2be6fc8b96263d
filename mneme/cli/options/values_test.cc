#include "mneme/cli/options/values.h"

#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

std::string judged(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(Values, WholeNumbers) {
  EXPECT_EQ(judged(whole_number(1, 4294967295), "4294967295"), "");
  for (const char* wrong : {"0", "-1", "4294967296", "1.5", "1e3", "x", "", "99999999999999999999"})
    EXPECT_EQ(judged(whole_number(1, 4294967295), wrong),
              std::string("'") + wrong + "' is not a whole number from 1 to 4294967295");
  EXPECT_EQ(judged(whole_number(0), "18446744073709551615"), "");
  EXPECT_EQ(judged(whole_number(0), "-1"), "'-1' is not a whole number from 0");
}

TEST(Values, WholeNumbersOrAll) {
  for (auto [text, value] : {std::pair("1", "1"), {"10000", "10000"}, {"all", "18446744073709551615"}}) {
    std::string taken = text;
    EXPECT_EQ(whole_number_or_all(1)(taken), "") << text;
    EXPECT_EQ(taken, value);
  }
  for (const char* wrong : {"0", "-1", "", "ALL", "al", "all "})
    EXPECT_EQ(judged(whole_number_or_all(1), wrong), std::string("'") + wrong + "' is not a whole number from 1, nor all");
}

TEST(Values, Numbers) {
  EXPECT_EQ(judged(number(0.5, 2, "GiB"), "1.5"), "");
  for (const char* wrong : {"0.4", "3", "abc", "nan", "-1", ""})
    EXPECT_EQ(judged(number(0.5, 2, "GiB"), wrong), std::string("'") + wrong + "' is not a number from 0.5 to 2 (GiB)");
}

TEST(Values, Sizes) {
  for (auto [text, bytes] : {std::pair("0", "0"),
                             {"123", "123"},
                             {"123B", "123"},
                             {"1k", "1024"},
                             {"2M", "2097152"},
                             {"1.5GiB", "1610612736"},
                             {"1TB", "1099511627776"}}) {
    std::string value = text;
    EXPECT_EQ(byte_size()(value), "") << text;
    EXPECT_EQ(value, bytes);
  }
  for (const char* wrong : {"-1", "1.5", "1X", "K", "", "99999999999T", "-2K", "1 M"})
    EXPECT_EQ(judged(byte_size(), wrong),
              std::string("'") + wrong + "' is not a size: a number of bytes, or one with K, M, G or T behind it (of 1024)");
}

TEST(Values, DigitsOfAHash) {
  std::string value = "0AbF";
  EXPECT_EQ(hash_digits()(value), "");
  EXPECT_EQ(value, "0abf");
  for (const char* wrong : {"", "xyz", "0123456789abcdef0123456789abcdef0"})
    EXPECT_EQ(judged(hash_digits(), wrong),
              std::string("'") + wrong + "' does not begin a hash: 1 to 32 of the digits 0-9 and a-f");
}

}  // namespace
}  // namespace mneme::cli
