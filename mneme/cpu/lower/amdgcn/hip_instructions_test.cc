// Atomic accesses, functions of the device libraries and single instructions of AMD GPUs on the CPU device, compared with the
// host's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>

#include "mneme/cpu/lower/amdgcn/testing/hip_test.h"

namespace mneme::cpu::amdgcn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HipInstructionsTest : public HipTest {};
INSTANTIATE_TEST_SUITE_P(Targets, HipInstructionsTest, testing::ValuesIn(hip_targets()), target_name);

TEST_P(HipInstructionsTest, AtomicUpdatesWithScopes) {
  load("atomics");
  std::vector<int32_t> words(7);
  float reals = 0;
  double doubles = 0;
  std::vector<uint32_t> scoped(3);
  ASSERT_OK(run("atomics", {{32, 1, 1}, {64, 1, 1}, {}}, address(words.data()), address(&reals), address(&doubles),
                address(scoped.data())));
  const int n = 32 * 64;
  EXPECT_EQ(words[0], n * (n - 1) / 2);
  EXPECT_EQ(words[1], n - 1);
  EXPECT_EQ(words[2], 1 - n);
  EXPECT_EQ(words[3], 0x7fffffff);
  EXPECT_EQ(words[4], 0);  // of 0 to 2047
  EXPECT_THAT(words[5], testing::AllOf(testing::Ge(0), testing::Lt(n)));
  EXPECT_EQ(words[6], 2 * n);
  EXPECT_EQ(reals, n / 2);
  EXPECT_EQ(doubles, n / 4);
  EXPECT_THAT(scoped, ElementsAre(n, n, n - 1));
}

TEST_P(HipInstructionsTest, AtomicUpdatesOfLds) {
  load("histogram");
  std::vector<int32_t> in(1024);
  std::vector<uint32_t> bins(16), expected(16);
  for (int i = 0; i < 1024; ++i) in[i] = i * i, ++expected[in[i] & 15];
  ASSERT_OK(run("histogram", {{4, 1, 1}, {256, 1, 1}, {}}, address(in.data()), address(bins.data())));
  EXPECT_EQ(bins, expected);
}

TEST_P(HipInstructionsTest, ABlockMayWaitForAnother) {
  load("in_turn");
  int32_t turn = 0;
  std::vector<int32_t> order(8);
  ASSERT_OK(run("in_turn", {{8, 1, 1}, {32, 1, 1}, {}}, address(&turn), address(order.data())));
  EXPECT_THAT(order, ElementsAre(0, 3, 6, 9, 12, 15, 18, 21));
}

// How many representable numbers lie between them, about.
template <typename T>
double distance(T found, T expected) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) == std::isnan(expected) ? 0 : INFINITY;
  if (found == expected) return 0;
  const T next = std::nextafter(std::abs(expected), std::numeric_limits<T>::infinity());
  return std::abs(static_cast<double>(found) - static_cast<double>(expected)) / static_cast<double>(next - std::abs(expected));
}

template <typename T>
std::vector<std::function<T(T)>> functions() {
  return {[](T x) { return std::sin(x); },
          [](T x) { return std::cos(x); },
          [](T x) { return std::tan(x); },
          [](T x) { return std::asin(x); },
          [](T x) { return std::acos(x); },
          [](T x) { return std::atan(x); },
          [](T x) { return std::exp(x); },
          [](T x) { return std::exp2(x); },
          [](T x) { return std::log(x); },
          [](T x) { return std::log2(x); },
          [](T x) { return std::log10(x); },
          [](T x) { return std::log1p(x); },
          [](T x) { return std::sqrt(x); },
          [](T x) { return std::cbrt(x); },
          [](T x) { return std::tanh(x); },
          [](T x) { return std::erf(x); },
          [](T x) { return std::tgamma(x); },
          [](T x) { return std::floor(x); },
          [](T x) { return std::pow(x, T(1.7L)); },
          [](T x) { return std::atan2(x, T(0.3L)); },
          [](T x) { return std::fmod(T(100), x); },
          [](T x) { return std::hypot(x, T(2)); },
          [](T x) { return std::sin(x * T(sizeof(T) == 4 ? 1e9L : 1e30L)); },
          [](T x) { return std::ldexp(x, 5); },
          [](T x) { return 1 / std::sqrt(x); }};
}

template <typename T>
void compare(const std::vector<T>& in, const std::vector<T>& out, double most) {
  const auto all = functions<T>();
  for (size_t k = 0; k < all.size(); ++k)
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_LE(distance(out[k * in.size() + i], all[k](in[i])), most) << "function " << k << " of " << in[i];
}

// The device libraries promise 4 units in the last place for most, 16 for a few (OpenCL).
TEST_P(HipInstructionsTest, FunctionsOfTheDeviceLibraries) {
  load("math_of_floats");
  const std::vector<float> in = {0.1f, 0.25f, 0.5f, 0.75f, 0.9f, 1.0f, 2.5f, 7.0f, 1e-3f, 1e-30f, 3e-39f, 20.0f};
  const auto n = static_cast<int32_t>(in.size());
  std::vector<float> out(in.size() * functions<float>().size());
  ASSERT_OK(
      run("math_of_floats", {{}, {static_cast<uint32_t>(in.size()), 1, 1}, {}}, address(in.data()), address(out.data()), n));
  compare(in, out, 16);

  load("math_of_doubles");
  const std::vector<double> numbers = {0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.5, 7.0, 1e-3, 1e-300, 3e-310, 20.0};
  std::vector<double> results(numbers.size() * functions<double>().size());
  ASSERT_OK(run("math_of_doubles", {{}, {static_cast<uint32_t>(in.size()), 1, 1}, {}}, address(numbers.data()),
                address(results.data()), n));
  compare(numbers, results, 16);
}

TEST_P(HipInstructionsTest, InstructionsOnFloats) {
  load("float_instructions");
  const std::vector<float> in = {0.1f, -0.3f, 1.0f, 1.75f, -2.5f, 100.3f, 65519.9f, 1e6f, 0.0f, -0.0f};
  const auto n = static_cast<uint32_t>(in.size());
  std::vector<float> out(12 * n);
  ASSERT_OK(run("float_instructions", {{}, {n, 1, 1}, {}}, address(in.data()), address(out.data()), static_cast<int32_t>(n)));
  for (size_t i = 0; i < n; ++i) {
    const float x = in[i];
    const auto at = [&](size_t k) { return out[k * n + i]; };
    const double angle = 2 * std::numbers::pi * (static_cast<double>(x) - std::floor(static_cast<double>(x)));
    int exponent = 0;
    EXPECT_EQ(at(0), 1 / x);
    EXPECT_LE(distance(at(1), 1 / std::sqrt(x)), 1) << x;
    EXPECT_NEAR(at(2), std::sin(angle), 1e-6) << x;
    EXPECT_NEAR(at(3), std::cos(angle), 1e-6) << x;
    EXPECT_EQ(at(4), std::min(x - std::floor(x), std::nextafter(1.0f, 0.0f))) << x;
    EXPECT_EQ(at(5), std::frexp(x, &exponent)) << x;
    EXPECT_EQ(at(6), exponent) << x;
    EXPECT_EQ(at(7), std::clamp(x, 0.5f, 2.0f)) << x;
    EXPECT_EQ(at(8), std::signbit(x) ? 0 : 1) << x;
    // Cut to eleven bits, and at the greatest half.
    const float kept = std::min(std::ldexp(std::trunc(std::ldexp(std::abs(x), 11 - exponent)), exponent - 11), 65504.0f);
    EXPECT_EQ(at(9), 2 * std::copysign(kept, x)) << x;
    EXPECT_LE(distance(at(10), std::log2(x)), 2) << x;
    EXPECT_LE(distance(at(11), std::exp2(x)), 2) << x;
  }
}

std::array<uint32_t, 4> bytes_of(uint32_t word) { return {word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff, word >> 24}; }

uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{a} << 32 | b;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t s = bytes_of(selector)[i];
    const uint32_t byte = s < 8     ? static_cast<uint32_t>(both >> (8 * s) & 0xff)
                          : s < 12  ? (both >> (16 * (s - 8) + 15) & 1) * 0xff
                          : s == 12 ? 0
                                    : 0xff;
    result |= byte << (8 * i);
  }
  return result;
}

uint32_t field_of(int64_t value, uint32_t first, uint32_t width, bool is_signed) {
  first &= 31, width &= 31;
  if (width == 0) return 0;
  if (!is_signed) value &= 0xffffffff;
  const int64_t moved = value >> first;
  if (first + width >= 32) return static_cast<uint32_t>(moved);
  const auto low = static_cast<uint64_t>(moved) << (64 - width);
  return static_cast<uint32_t>(is_signed ? static_cast<int64_t>(low) >> (64 - width) : static_cast<int64_t>(low >> (64 - width)));
}

TEST_P(HipInstructionsTest, InstructionsOnBits) {
  load("bit_instructions");
  constexpr size_t n = 64;
  std::vector<uint32_t> in(n + 2), out(12 * n);
  uint32_t random = 12345;
  for (uint32_t& word : in) word = random = random * 1664525 + 1013904223;
  in[5] = 0x80ff7f00, in[6] = 0x00001f20, in[7] = 0;
  ASSERT_OK(run("bit_instructions", {{}, {n, 1, 1}, {}}, address(in.data()), address(out.data()), static_cast<int32_t>(n)));
  for (uint32_t t = 0; t < n; ++t) {
    const uint32_t a = in[t], b = in[t + 1], c = in[t + 2];
    const auto at = [&](size_t k) { return out[k * n + t]; };
    uint32_t sad = c, masked = c, mean = 0, halves = c;
    int64_t dot = static_cast<int32_t>(c);
    uint64_t unsigned_dot = c;
    for (unsigned i = 0; i < 4; ++i) {
      const auto x = static_cast<int32_t>(bytes_of(a)[i]), y = static_cast<int32_t>(bytes_of(b)[i]);
      sad += static_cast<uint32_t>(std::abs(x - y));
      if (y != 0) masked += static_cast<uint32_t>(std::abs(x - y));
      mean |= (static_cast<uint32_t>(x + y) + (bytes_of(c)[i] & 1)) / 2 << (8 * i);
      dot += static_cast<int8_t>(x) * static_cast<int8_t>(y);
      unsigned_dot += static_cast<uint32_t>(x * y);
    }
    for (unsigned shift : {0u, 16u})
      halves +=
          static_cast<uint32_t>(std::abs(static_cast<int32_t>(a >> shift & 0xffff) - static_cast<int32_t>(b >> shift & 0xffff)));
    EXPECT_EQ(at(0), permuted(a, b, 0x0c0d0804 + t % 8)) << t;
    EXPECT_EQ(at(1), field_of(a, b, c, false)) << t;
    EXPECT_EQ(at(2), field_of(static_cast<int32_t>(a), b, c, true)) << t;
    EXPECT_EQ(at(3), sad) << t;
    EXPECT_EQ(at(4), halves) << t;
    EXPECT_EQ(at(5), masked) << t;
    EXPECT_EQ(at(6), mean) << t;
    EXPECT_EQ(at(7), static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (8 * (c & 3)))) << t;
    EXPECT_EQ(at(8), static_cast<uint32_t>(dot)) << t;
    EXPECT_EQ(at(9), static_cast<uint32_t>(std::min<uint64_t>(unsigned_dot, UINT32_MAX))) << t;
    const uint32_t shift = 8 * (b % 4);
    EXPECT_EQ(at(10), (c & ~(0xffu << shift)) | std::min(a % 300, 255u) << shift) << t;
    EXPECT_EQ(at(11), a << (b % 32)) << t;  // only the low five bits count
  }
}

TEST_P(HipInstructionsTest, FunctionsThatAreCalledByPointersAndByThemselves) {
  load("language");
  std::vector<int32_t> out(8);
  const std::array<int32_t, 8> in = {1, 5, 2, 3, 4, 5, 6, 7};
  ASSERT_OK(run("language", {{}, {8, 1, 1}, {}}, address(out.data()), address(in.data())));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], i * i + 120 + in[i]);
}

TEST_P(HipInstructionsTest, AtomicUpdatesThatWrapAroundAndOfHalves) {
  load("more_atomics");
  std::array<uint32_t, 2> words = {4, 1};
  std::vector<uint16_t> numbers(64, 0x4200);  // 3
  uint32_t pairs = 0;
  ASSERT_OK(run("more_atomics", {{}, {64, 1, 1}, {}}, address(words.data()), address(numbers.data()), address(&pairs)));
  EXPECT_THAT(words, ElementsAre((4 + 64) % 6, (1 + 6 * 64 - 64) % 6));
  EXPECT_THAT(numbers, testing::Each(0x3e00));  // 1.5
  EXPECT_EQ(pairs, 0x58005400u);                // 128 and 64
}

TEST_P(HipInstructionsTest, ClocksRise) {
  load("times");
  std::array<uint64_t, 4> out{};
  ASSERT_OK(run("times", {{}, {1, 1, 1}, {}}, address(out.data())));
  EXPECT_GT(out[2], out[0]);
  EXPECT_GE(out[3], out[1]);
  EXPECT_GT(out[1], 0u);
}

TEST_P(HipInstructionsTest, AssemblyOfCommentsWaitsAndMoves) {
  load("known_assembly");
  std::vector<int32_t> out(4);
  ASSERT_OK(run("known_assembly", {{}, {4, 1, 1}, {}}, address(out.data())));
  EXPECT_THAT(out, ElementsAre(0, 1, 2, 3));
}

TEST_P(HipInstructionsTest, WhatIsNotThereIsRefusedByName) {
  EXPECT_EQ(compile("unknown_assembly").status().to_string(),
            "unsupported: inline assembly 'v_bfrev_b32 $0, $1' in 'unknown_assembly': the CPU device does not have it");
  if (wave_size() != 64) return;
  EXPECT_EQ(compile("matrix").status().to_string(),
            "unsupported: intrinsic 'llvm.amdgcn.mfma.f32.16x16x1f32' in 'matrix': the CPU device does not have it");
}

TEST_P(HipInstructionsTest, KindsOfAddresses) {
  load("addresses");
  std::vector<int32_t> out(3);
  ASSERT_OK(run("addresses", {{}, {3, 1, 1}, {}}, address(out.data())));
  EXPECT_THAT(out, ElementsAre(120, 120, 120));
}

TEST_P(HipInstructionsTest, TheDispatchPacket) {
  load("packet");
  std::vector<uint32_t> out(4);
  ASSERT_OK(run("packet", {{2, 3, 1}, {5, 6, 1}, {}}, address(out.data())));
  EXPECT_THAT(out, ElementsAre(5, 18, 5, 0));
}

}  // namespace
}  // namespace mneme::cpu::amdgcn
