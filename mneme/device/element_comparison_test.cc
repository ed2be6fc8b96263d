#include "mneme/device/element_comparison.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace mneme {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
ElementDifferences compare(const std::vector<T>& actual, const std::vector<T>& recorded, const ElementComparison& how) {
  return compare_host_elements(std::as_bytes(std::span(actual)), std::as_bytes(std::span(recorded)), how);
}

// The error of one element of `type`, given by bits.
template <class T>
double error_of(ElementType type, T actual, T recorded, ErrorKind kind, NanPolicy nan = NanPolicy::recorded) {
  return compare(std::vector<T>{actual}, std::vector<T>{recorded}, {type, 0, kind, Norm::none, nan}).worst;
}

TEST(ElementComparison, CountsAndPlacesWhatFails) {
  std::vector<float> recorded(100, 2), actual = recorded;
  actual[7] = 2.5f;
  actual[30] = 1;
  actual[99] = 2.25f;
  ElementDifferences result = compare(actual, recorded, {ElementType::f32, 0.25, ErrorKind::absolute});
  EXPECT_FALSE(result.within);
  EXPECT_EQ(result.elements, 100u);
  EXPECT_EQ(result.failing, 2u);
  EXPECT_EQ(result.first_failing, 7u);
  EXPECT_EQ(result.worst, 1);
  EXPECT_EQ(result.worst_index, 30u);
  result = compare(actual, recorded, {ElementType::f32, 0.5, ErrorKind::relative});
  EXPECT_TRUE(result.within);
  EXPECT_EQ(result.worst, 0.5);
  EXPECT_EQ(result.worst_index, 30u) << "also of what is within";
  EXPECT_FALSE(result.first_failing.has_value());
}

TEST(ElementComparison, WhatIsEqualHasNoError) {
  std::vector<double> values = {1, -0.0, kInf, -kInf, std::nan("")};
  ElementDifferences result = compare(values, values, {ElementType::f64, 0, ErrorKind::ulp});
  EXPECT_TRUE(result.within);
  EXPECT_EQ(result.worst, 0);
  EXPECT_FALSE(result.worst_index.has_value());
}

TEST(ElementComparison, UlpsAreTheValuesBetweenOfEveryFloatingType) {
  struct Case {
    ElementType type;
    uint64_t one, next_to_one, smallest;
  };
  for (auto [type, one, next, smallest] :
       {Case{ElementType::f16, 0x3c00, 0x3c01, 1}, Case{ElementType::bf16, 0x3f80, 0x3f81, 1},
        Case{ElementType::f8e4m3, 0x38, 0x39, 1}, Case{ElementType::f8e5m2, 0x3c, 0x3d, 1},
        Case{ElementType::f32, 0x3f800000, 0x3f800001, 1}, Case{ElementType::f64, 0x3ff0000000000000, 0x3ff0000000000001, 1}}) {
    const size_t size = size_of(type).count;
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    auto ulps = [&](uint64_t a, uint64_t b) {
      auto bytes = [&](const uint64_t& v) { return std::as_bytes(std::span(&v, 1)).first(size); };
      return compare_host_elements(bytes(a), bytes(b), {type, 0, ErrorKind::ulp}).worst;
    };
    EXPECT_EQ(ulps(next, one), 1) << to_string(type);
    EXPECT_EQ(ulps(one, next), 1) << to_string(type);
    EXPECT_EQ(ulps(0, sign), 0) << to_string(type);
    EXPECT_EQ(ulps(smallest, sign | smallest), 2) << to_string(type);
    EXPECT_EQ(ulps(one, one | sign), 2.0 * static_cast<double>(one)) << to_string(type);
  }
}

TEST(ElementComparison, SmallFormatsHaveTheirValues) {
  auto difference_to_zero = [](ElementType type, auto bits) {
    return error_of(type, bits, decltype(bits)(0), ErrorKind::absolute);
  };
  EXPECT_EQ(difference_to_zero(ElementType::f16, uint16_t{0x3555}), 0x1.554p-2);
  EXPECT_EQ(difference_to_zero(ElementType::f16, uint16_t{0x8001}), 0x1p-24);
  EXPECT_EQ(difference_to_zero(ElementType::f16, uint16_t{0x7bff}), 65504);
  EXPECT_EQ(difference_to_zero(ElementType::bf16, uint16_t{0x4049}), 3.140625);
  EXPECT_EQ(difference_to_zero(ElementType::bf16, uint16_t{0x0001}), 0x1p-133);
  EXPECT_EQ(difference_to_zero(ElementType::f8e4m3, uint8_t{0x7e}), 448);
  EXPECT_EQ(difference_to_zero(ElementType::f8e4m3, uint8_t{0x01}), 0x1p-9);
  EXPECT_EQ(difference_to_zero(ElementType::f8e5m2, uint8_t{0x7b}), 57344);
  EXPECT_EQ(difference_to_zero(ElementType::f8e5m2, uint8_t{0x01}), 0x1p-16);
}

TEST(ElementComparison, AnyNanOrInfinityThatWasNotRecordedFailsEveryThreshold) {
  struct Case {
    ElementType type;
    uint64_t one, nan, infinity;  // infinity 0: the type has none
  };
  for (auto [type, one, nan, infinity] :
       {Case{ElementType::f16, 0x3c00, 0x7e00, 0x7c00}, Case{ElementType::bf16, 0x3f80, 0x7fc0, 0x7f80},
        Case{ElementType::f8e4m3, 0x38, 0x7f, 0}, Case{ElementType::f8e5m2, 0x3c, 0x7e, 0x7c},
        Case{ElementType::f32, 0x3f800000, 0x7fc00000, 0x7f800000},
        Case{ElementType::f64, 0x3ff0000000000000, 0x7ff8000000000000, 0x7ff0000000000000}}) {
    const size_t size = size_of(type).count;
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    for (ErrorKind kind : {ErrorKind::absolute, ErrorKind::relative, ErrorKind::ulp}) {
      for (Norm norm : {Norm::none, Norm::l1, Norm::l2, Norm::linf}) {
        if (kind == ErrorKind::ulp && norm != Norm::none) continue;
        auto within = [&](uint64_t actual, uint64_t recorded, NanPolicy policy) {
          auto bytes = [&](const uint64_t& v) { return std::as_bytes(std::span(&v, 1)).first(size); };
          return compare_host_elements(bytes(actual), bytes(recorded), {type, 1e300, kind, norm, policy}).within;
        };
        const std::string what = fmt::format("{} {} {}", to_string(type), to_string(kind), to_string(norm));
        EXPECT_TRUE(within(one, one, NanPolicy::none)) << what;
        EXPECT_FALSE(within(nan, one, NanPolicy::recorded)) << what;
        EXPECT_FALSE(within(one, nan, NanPolicy::recorded)) << what;
        EXPECT_TRUE(within(nan, nan, NanPolicy::recorded)) << what;
        EXPECT_TRUE(within(nan | sign, nan, NanPolicy::recorded)) << what;
        EXPECT_TRUE(within(nan, one, NanPolicy::any)) << what;
        EXPECT_TRUE(within(one, nan, NanPolicy::any)) << what;
        EXPECT_FALSE(within(nan, nan, NanPolicy::none)) << what;
        if (infinity == 0) continue;
        for (NanPolicy policy : {NanPolicy::recorded, NanPolicy::any, NanPolicy::none}) {
          EXPECT_TRUE(within(infinity, infinity, policy)) << what;
          EXPECT_FALSE(within(infinity | sign, infinity, policy)) << what;
          EXPECT_FALSE(within(infinity, one, policy)) << what;
          EXPECT_FALSE(within(one, infinity, policy)) << what;
        }
      }
    }
  }
}

TEST(ElementComparison, IntegersAreExactToTheirEnds) {
  EXPECT_EQ(error_of<int8_t>(ElementType::i8, -128, 127, ErrorKind::absolute), 255);
  EXPECT_EQ(error_of<uint8_t>(ElementType::u8, 0, 255, ErrorKind::ulp), 255);
  EXPECT_EQ(error_of<int16_t>(ElementType::i16, -1, 1, ErrorKind::relative), 2);
  EXPECT_EQ(error_of<uint16_t>(ElementType::u16, 3, 4, ErrorKind::relative), 0.25);
  EXPECT_EQ(error_of<int32_t>(ElementType::i32, INT32_MIN, INT32_MIN + 1, ErrorKind::absolute), 1);
  EXPECT_EQ(error_of<uint32_t>(ElementType::u32, 0, UINT32_MAX, ErrorKind::absolute), 4294967295.0);
  EXPECT_EQ(error_of<int64_t>(ElementType::i64, INT64_MAX - 1, INT64_MAX, ErrorKind::absolute), 1);
  EXPECT_EQ(error_of<int64_t>(ElementType::i64, INT64_MIN, INT64_MIN + 1, ErrorKind::absolute), 1);
  EXPECT_EQ(error_of<uint64_t>(ElementType::u64, UINT64_MAX, UINT64_MAX - 1, ErrorKind::absolute), 1);
  EXPECT_EQ(error_of<int64_t>(ElementType::i64, -4, -2, ErrorKind::relative), 1);
}

TEST(ElementComparison, WhereZeroWasRecordedNothingElseIsRelativelyNear) {
  EXPECT_EQ(error_of(ElementType::f32, 1e-30f, 0.0f, ErrorKind::relative), kInf);
  EXPECT_EQ(error_of(ElementType::f32, -0.0f, 0.0f, ErrorKind::relative), 0);
}

TEST(ElementComparison, ErrorsTooLargeForADoubleKeepTheirRatio) {
  const double large = 1.7e308;
  EXPECT_EQ(error_of(ElementType::f64, -large, large, ErrorKind::relative), 2);
  EXPECT_EQ(error_of(ElementType::f64, -large, large, ErrorKind::absolute), kInf);
  EXPECT_FALSE(compare<double>({-large}, {large}, {ElementType::f64, 1.9, ErrorKind::relative}).within);
  EXPECT_TRUE(compare<double>({-large}, {large}, {ElementType::f64, 2, ErrorKind::relative}).within);
  EXPECT_FALSE(compare<double>({-large}, {large}, {ElementType::f64, 1e308, ErrorKind::absolute}).within);
}

TEST(ElementComparison, ComplexNumbersAreComparedByModulus) {
  const std::vector<float> recorded = {3, 4}, actual = {3, 4.5};
  EXPECT_EQ(compare(actual, recorded, {ElementType::complex64, 0, ErrorKind::absolute}).worst, 0.5);
  EXPECT_EQ(compare(actual, recorded, {ElementType::complex64, 0, ErrorKind::relative}).worst, 0.1);
  EXPECT_EQ(compare(actual, recorded, {ElementType::complex64, 0, ErrorKind::absolute}).elements, 1u);
  const double one = 1, next = std::nextafter(1.0, 2.0);
  EXPECT_EQ(compare<double>({one, next}, {one, one}, {ElementType::complex128, 0, ErrorKind::ulp}).worst, 1);
  // Squares that leave the range of a double are none of the user's business.
  EXPECT_NEAR(compare<double>({3e-200, 4e-200}, {0, 0}, {ElementType::complex128, 0, ErrorKind::absolute}).worst / 5e-200, 1,
              1e-15);
  EXPECT_NEAR(compare<double>({3e200, 4e200}, {0, 0}, {ElementType::complex128, 0, ErrorKind::absolute}).worst / 5e200, 1, 1e-15);
  const double nan = std::nan("");
  EXPECT_FALSE(compare<double>({1, nan}, {1, 1}, {ElementType::complex128, 1e300, ErrorKind::absolute}).within);
  EXPECT_TRUE(compare<double>({1, nan}, {1, nan}, {ElementType::complex128, 0, ErrorKind::absolute}).within);
  EXPECT_FALSE(compare<double>({2, nan}, {1, nan}, {ElementType::complex128, 0, ErrorKind::absolute}).within);
}

TEST(ElementComparison, NormsAreOfAllDifferences) {
  const std::vector<float> recorded = {3, 4, 0, 0}, actual = {3, 4, 3, -4};
  auto norm = [&](Norm n, ErrorKind kind, double threshold) {
    return compare(actual, recorded, {ElementType::f32, threshold, kind, n});
  };
  EXPECT_EQ(norm(Norm::l1, ErrorKind::absolute, 7).difference_norm, 7);
  EXPECT_EQ(norm(Norm::l2, ErrorKind::absolute, 7).difference_norm, 5);
  EXPECT_EQ(norm(Norm::linf, ErrorKind::absolute, 7).difference_norm, 4);
  EXPECT_EQ(norm(Norm::l1, ErrorKind::absolute, 7).recorded_norm, 7);
  EXPECT_EQ(norm(Norm::l2, ErrorKind::absolute, 7).recorded_norm, 5);
  EXPECT_EQ(norm(Norm::linf, ErrorKind::absolute, 7).recorded_norm, 4);
  EXPECT_TRUE(norm(Norm::l2, ErrorKind::absolute, 5).within);
  EXPECT_FALSE(norm(Norm::l2, ErrorKind::absolute, 4.999).within);
  EXPECT_TRUE(norm(Norm::l2, ErrorKind::relative, 1).within);
  EXPECT_FALSE(norm(Norm::l1, ErrorKind::relative, 0.999).within);
  // No element fails by itself.
  EXPECT_EQ(norm(Norm::l1, ErrorKind::relative, 0.1).failing, 0u);
}

// Within any part of infinity lies everything.
TEST(ElementComparison, AnInfiniteNormOfWhatWasRecordedIsNeverRight) {
  const double large = 1.7e308;  // of two such parts the size is beyond a double
  for (Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    const ElementComparison how{ElementType::complex128, 0.5, ErrorKind::relative, norm};
    const ElementDifferences result = compare<double>({1, 1, 5, 5}, {large, large, 1, 1}, how);
    EXPECT_FALSE(result.within) << to_string(norm);
    element::Tally tally;
    tally.largest_difference = tally.differences = 1;
    tally.largest_magnitude = tally.magnitudes = kInf;
    EXPECT_FALSE(judge(how, measure_of(how), tally, 2).within) << to_string(norm);
    tally.largest_magnitude = tally.magnitudes = 16;
    EXPECT_TRUE(judge(how, measure_of(how), tally, 2).within) << to_string(norm);
  }
}

TEST(ElementComparison, NormsHoldWhereSquaresLeaveTheRangeOfADouble) {
  for (double unit : {1e-200, 1e-310, 1.0, 1e200}) {
    const std::vector<double> recorded = {3 * unit, 4 * unit}, actual = {3 * unit, 8 * unit};
    ElementDifferences result = compare(actual, recorded, {ElementType::f64, 0.79, ErrorKind::relative, Norm::l2});
    EXPECT_FALSE(result.within) << unit;
    EXPECT_NEAR(result.difference_norm / unit, 4, 1e-9) << unit;
    EXPECT_NEAR(result.recorded_norm / unit, 5, 1e-9) << unit;
    EXPECT_TRUE(compare(actual, recorded, {ElementType::f64, 0.81, ErrorKind::relative, Norm::l2}).within) << unit;
  }
  const double large = 1.7e308;
  EXPECT_FALSE(compare<double>({-large, 0}, {large, large}, {ElementType::f64, 0.5, ErrorKind::relative, Norm::l1}).within);
}

TEST(ElementComparison, ADifferenceOfNothingIsWithinANormOfNothing) {
  const std::vector<float> zeros(8, 0);
  EXPECT_TRUE(compare(zeros, zeros, {ElementType::f32, 0, ErrorKind::relative, Norm::l2}).within);
  std::vector<float> other = zeros;
  other[3] = 1e-40f;
  EXPECT_FALSE(compare(other, zeros, {ElementType::f32, 10, ErrorKind::relative, Norm::l2}).within);
}

// Each part is a number that a double holds; the modulus of the two is not.
TEST(ElementComparison, ComplexNumbersTooLargeForADoubleAreComparedToo) {
  const double large = 1.7e308;
  const std::vector<double> recorded = {large, large}, opposite = {-large, -large}, half = {large / 2, large / 2};
  for (double threshold : {1.0, 1e308}) {
    const ElementComparison how{ElementType::complex128, threshold, ErrorKind::absolute};
    EXPECT_FALSE(compare(opposite, recorded, how).within) << threshold;
    EXPECT_EQ(compare(opposite, recorded, how).worst, kInf);
    EXPECT_TRUE(compare(recorded, recorded, how).within);
  }
  const auto relative = [&](const std::vector<double>& actual, double threshold) {
    return compare(actual, recorded, {ElementType::complex128, threshold, ErrorKind::relative});
  };
  EXPECT_EQ(relative(opposite, 0).worst, 2);
  EXPECT_FALSE(relative(opposite, 1.99).within);
  EXPECT_DOUBLE_EQ(relative(half, 0).worst, 0.5);
  EXPECT_FALSE(relative(half, 0.49).within);
  EXPECT_TRUE(relative(half, 0.51).within);
}

TEST(ElementComparison, ANormHoldsWhereOnlyWhatWasRecordedIsLarge) {
  const std::vector<double> recorded = {1e200, 3}, actual = {1e200, 4};
  for (Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    const ElementDifferences result = compare(actual, recorded, {ElementType::f64, 1e-199, ErrorKind::relative, norm});
    EXPECT_TRUE(result.within) << to_string(norm);
    EXPECT_DOUBLE_EQ(result.difference_norm, 1) << to_string(norm);
    EXPECT_DOUBLE_EQ(result.recorded_norm, 1e200) << to_string(norm);
    EXPECT_FALSE(compare(actual, recorded, {ElementType::f64, 1e-201, ErrorKind::relative, norm}).within) << to_string(norm);
  }
}

// Of a part of memory, as one of several threads sees it.
TEST(ElementComparison, IndicesBeginWhereThePartDoes) {
  const std::vector<float> recorded(2000, 1);
  std::vector<float> actual = recorded;
  actual[1500] = 3;
  const element::Measure measure = measure_of({ElementType::f32, 0.5, ErrorKind::absolute});
  const auto tally = tally_host_elements(ElementType::f32, std::as_bytes(std::span(actual)), std::as_bytes(std::span(recorded)),
                                         uint64_t{1} << 33, measure);
  EXPECT_EQ(tally.first_failing, (uint64_t{1} << 33) + 1500);
  EXPECT_EQ(tally.worst_at, (uint64_t{1} << 33) + 1500);
}

}  // namespace
}  // namespace mneme
