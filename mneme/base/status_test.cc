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

TEST(Result, PassesValuesAndStopsAtTheFirstFailure) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
}

}  // namespace
}  // namespace mneme
