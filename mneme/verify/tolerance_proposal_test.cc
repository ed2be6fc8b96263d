#include "mneme/verify/tolerance_proposal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace mneme {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string proposed(ElementType type, const ErrorsSeen& errors, double typical, NanPolicy nan = NanPolicy::recorded) {
  const ToleranceProposal proposal = propose_tolerance(type, nan, errors, typical);
  EXPECT_NE(proposal.tolerance.has_value(), !proposal.none_because.empty());
  return proposal.tolerance ? format_tolerance(*proposal.tolerance) : proposal.none_because;
}

TEST(ToleranceProposal, RoundingIsProposedAsUlpsThenRelativeThenAbsolute) {
  EXPECT_EQ(proposed(ElementType::f32, {1e-7, 1e-7, 3, 1000, 900}, 1), "f32, 3, ulp");
  EXPECT_EQ(proposed(ElementType::f32, {1e-3, 1.21e-3, 20000, 1000, 10}, 1), "f32, 0.0013, relative");
  EXPECT_EQ(proposed(ElementType::f32, {9.05e-5, 17, 1e8, 1000, 10}, 1), "f32, 9.1e-05, absolute");
  EXPECT_EQ(proposed(ElementType::f32, {9.05e-5, kInfinite, 1e8, 1000, 900}, 1), "f32, 9.1e-05, absolute");
  EXPECT_EQ(proposed(ElementType::i32, {3, 0.1, 3, 1000, 10}, 512), "i32, 3, absolute");
  EXPECT_EQ(proposed(ElementType::bf16, {1e-3, 1.0 / 128, 1, 1000, 900}, 1), "bf16, 1, ulp");
}

TEST(ToleranceProposal, NothingOfTheSizeOfTheValues) {
  EXPECT_EQ(proposed(ElementType::f32, {3e-4, 4.76, 3e7, 1000, 10}, 1.2e-4),
            "no tolerance is proposed: 10 of 1000 f32 differ, by up to 476 % of the recorded value: this is not rounding");
  EXPECT_EQ(
      proposed(ElementType::f32, {3e-4, kInfinite, 3e7, 1000, 10}, 1.2e-4),
      "no tolerance is proposed: 10 of 1000 f32 differ, by up to 0.0003, where recorded values are about 0.00012: this is not "
      "rounding");
  EXPECT_EQ(proposed(ElementType::f32, {5, kInfinite, 3e7, 1000, 10}, 0),
            "no tolerance is proposed: 10 of 1000 f32 differ, by up to 5, where zero was recorded: this is not rounding");
  // 1024 units in the last place of a short format are the value.
  EXPECT_EQ(proposed(ElementType::f16, {1, 0.5, 512, 1000, 10}, 2),
            "no tolerance is proposed: 10 of 1000 f16 differ, by up to 50 % of the recorded value: this is not rounding");
  EXPECT_EQ(proposed(ElementType::i32, {3, 0.5, 3, 1000, 10}, 8),
            "no tolerance is proposed: 10 of 1000 i32 differ, by up to 50 % of the recorded value: this is not rounding");
}

TEST(ToleranceProposal, AnAbsoluteOneIsForValuesNearZeroAndNoWayRoundTheLimit) {
  EXPECT_EQ(proposed(ElementType::f32, {2, 0.5, 4e6, 1000, 1}, 512),
            "no tolerance is proposed: 1 of 1000 f32 differ, by up to 50 % of the recorded value: this is not rounding");
}

TEST(ToleranceProposal, WhereMostDifferOnlyTheLastPlaces) {
  EXPECT_EQ(proposed(ElementType::f32, {1e-3, 1e-3, 9000, 1000, 501}, 1),
            "no tolerance is proposed: 501 of 1000 f32 differ, by up to 0.1 % of the recorded value: this is not rounding");
  EXPECT_EQ(proposed(ElementType::f32, {1e-3, 1e-3, 9000, 1000, 500}, 1), "f32, 0.001, relative");
  EXPECT_EQ(proposed(ElementType::f64, {1e-9, 1e-9, 5e6, 1000, 900}, 1),
            "no tolerance is proposed: 900 of 1000 f64 differ, by up to 1e-07 % of the recorded value: this is not rounding");
  EXPECT_EQ(proposed(ElementType::i32, {1, 1e-6, 1, 1000, 900}, 1e6),
            "no tolerance is proposed: 900 of 1000 i32 differ, by up to 0.0001 % of the recorded value: this is not rounding");
  EXPECT_EQ(proposed(ElementType::f32, {0, 0, 0, 1000, 900}, 1, NanPolicy::any),
            "no tolerance is proposed: 900 of 1000 f32 differ, by up to 0 % of the recorded value: this is not rounding");
}

// Of each type one unit in the last place is allowed, also where that is more than a hundredth.
TEST(ToleranceProposal, UnitsAreThoseOfTheType) {
  EXPECT_EQ(proposed(ElementType::f8e4m3, {1, 0.1, 2, 1000, 10}, 1), "f8e4m3, 0.1, relative");
  EXPECT_EQ(proposed(ElementType::f8e5m2, {1, 0.2, 2, 1000, 10}, 1), "f8e5m2, 0.2, relative");
  EXPECT_EQ(proposed(ElementType::f8e4m3, {1, 0.125, 1, 1000, 900}, 1), "f8e4m3, 1, ulp");
  EXPECT_EQ(proposed(ElementType::bf16, {1, 0.009, 2, 1000, 10}, 1), "bf16, 0.009, relative");
  EXPECT_EQ(proposed(ElementType::f16, {1, 0.009, 10, 1000, 10}, 1), "f16, 10, ulp");
  EXPECT_EQ(proposed(ElementType::f16, {1, 0.009, 11, 1000, 10}, 1), "f16, 0.009, relative");
  EXPECT_EQ(proposed(ElementType::f32, {1, 1e-4, 1024, 1000, 900}, 1), "f32, 1024, ulp");
  EXPECT_EQ(proposed(ElementType::f32, {1, 1e-4, 1025, 1000, 900}, 1), "f32, 0.0001, relative");
  EXPECT_EQ(proposed(ElementType::complex64, {1, 1e-4, 1024, 1000, 900}, 1), "complex64, 1024, ulp");
  EXPECT_EQ(proposed(ElementType::complex128, {1, 1e-13, 1024, 1000, 900}, 1), "complex128, 1024, ulp");
}

TEST(ToleranceProposal, ARoundedThresholdAcceptsWhatWasSeen) {
  for (int exponent = -12; exponent < -2; ++exponent)
    for (int digits = 10; digits < 100; ++digits) {
      const double seen = std::strtod(fmt::format("{}e{}", digits, exponent - 1).c_str(), nullptr);
      for (double error : {seen, std::nextafter(seen, 0.0), std::nextafter(seen, 1.0)}) {
        if (error > 0.01) continue;
        const auto proposal = propose_tolerance(ElementType::f64, NanPolicy::recorded, {1, error, 1e9, 1000, 10}, 1);
        ASSERT_TRUE(proposal.tolerance.has_value()) << error;
        EXPECT_GE(proposal.tolerance->threshold, error);
        EXPECT_LE(proposal.tolerance->threshold, error * 1.11);
      }
    }
}

}  // namespace
}  // namespace mneme
