#include "mneme/base/status.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return error(Code::invalid_argument, "{} is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  MNEME_ASSIGN(int once, half(n));
  MNEME_ASSIGN(int twice, half(once));
  return twice;
}

TEST(Status, CarriesCodeMessageAndContext) {
  Status status = error(Code::io, "writing {}", "x").with_context("publishing y");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.to_string(), "io: publishing y: writing x");
  EXPECT_EQ(Status().with_context("anything").to_string(), "ok");
}

TEST(Status, EveryCodeHasItsName) {
  const char* const kNames[] = {"ok",      "invalid_argument", "not_found", "unsupported",  "unavailable", "incompatible",
                                "corrupt", "exhausted",        "io",        "device_fault", "timeout",     "internal"};
  ASSERT_EQ(std::size(kNames), static_cast<size_t>(Code::internal) + 1);
  for (size_t i = 0; i < std::size(kNames); ++i) EXPECT_EQ(to_string(static_cast<Code>(i)), kNames[i]);
}

TEST(Result, PassesValuesAndStopsAtTheFirstFailure) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
}

}  // namespace
}  // namespace mneme
