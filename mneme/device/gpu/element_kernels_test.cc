// The element kernels, run on the host a thread after another, say what the host's comparison says.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "mneme/device/element_comparison.h"
#include "mneme/device/gpu/element_kernels_host.h"
#include "mneme/device/gpu/memory_kernels.h"

namespace mneme::gpu {
namespace {

using element::Tally;

Tally run_kernel(ElementType type, const uint8_t* actual, const uint8_t* recorded, uint64_t elements,
                 const element::Measure& measure, unsigned blocks = 3, unsigned threads = 64) {
  std::vector<Tally> tallies(blocks);
  const auto kernel = host::elements::kKernels[static_cast<size_t>(type)].kernel;
  host::run(blocks, threads, [&] { kernel(actual, recorded, elements, measure, tallies.data()); });
  Tally total;
  for (const Tally& tally : tallies) element::merge(total, tally, measure.sum);
  return total;
}

TEST(ElementKernels, AgreeWithTheHostForEveryTypeMeasureAndAlignment) {
  std::mt19937_64 random(3);
  for (int t = 0; t <= static_cast<int>(ElementType::complex128); ++t) {
    const auto type = static_cast<ElementType>(t);
    const uint64_t element = size_of(type).count;
    const uint64_t part = type == ElementType::complex64 ? 4 : type == ElementType::complex128 ? 8 : element;
    for (uint64_t elements : {uint64_t{1}, uint64_t{7}, uint64_t{16}, uint64_t{5000}}) {
      for (uint64_t offset : {uint64_t{0}, part, 3 * part}) {
        for (uint64_t shift : {uint64_t{0}, part}) {  // how differently the two lie
          alignas(16) static uint8_t recorded[100000], actual[100000];
          for (uint8_t& byte : recorded) byte = static_cast<uint8_t>(random());
          std::memcpy(actual + offset + shift, recorded + offset, elements * element);
          for (int change = 0; change < 5; ++change) actual[offset + shift + random() % (elements * element)] ^= 1;
          for (ErrorKind kind : {ErrorKind::absolute, ErrorKind::relative, ErrorKind::ulp}) {
            for (Norm norm : {Norm::none, Norm::l1, Norm::l2, Norm::linf}) {
              const element::Measure measure = measure_of({type, 1e-3, kind, norm, NanPolicy::none});
              const Tally tally = run_kernel(type, actual + offset + shift, recorded + offset, elements, measure);
              const Tally expected =
                  tally_host_elements(type, std::as_bytes(std::span(actual + offset + shift, elements * element)),
                                      std::as_bytes(std::span(recorded + offset, elements * element)), 0, measure);
              const std::string what = fmt::format("{} x {} at {} and {}, {}, {}", elements, to_string(type), offset + shift,
                                                   offset, to_string(kind), to_string(norm));
              ASSERT_EQ(tally.failing, expected.failing) << what;
              ASSERT_EQ(tally.first_failing, expected.first_failing) << what;
              ASSERT_EQ(tally.worst, expected.worst) << what;
              ASSERT_EQ(tally.worst_at, expected.worst_at) << what;
              ASSERT_EQ(tally.largest_difference, expected.largest_difference) << what;
              ASSERT_EQ(tally.largest_magnitude, expected.largest_magnitude) << what;
              if (std::isfinite(expected.differences))
                ASSERT_NEAR(tally.differences, expected.differences, 1e-12 * expected.differences) << what;
              if (std::isfinite(expected.magnitudes))
                ASSERT_NEAR(tally.magnitudes, expected.magnitudes, 1e-12 * expected.magnitudes) << what;
            }
          }
        }
      }
    }
  }
}

// Bits of an element for what filters may get wrong: next to the recorded one, far from it, a denormal, an infinity, a NaN.
uint64_t changed(uint64_t recorded, uint64_t bits, std::mt19937_64& random) {
  const uint64_t mask = ~uint64_t{0} >> (64 - bits), exponent = mask >> 1 & ~(mask >> (bits == 8 ? 5 : bits == 16 ? 6 : 9));
  switch (random() % 12) {
    case 0: return recorded;
    case 1: return random() & mask;
    case 2: return random() & mask >> (bits / 2);          // small
    case 3: return exponent;                               // an infinity, in most formats
    case 4: return exponent | 1 | (random() & mask >> 1);  // a NaN, in most
    case 5: return recorded ^ (mask ^ mask >> 1);          // of the other sign
    case 6: return 0;
    default: return recorded ^ (random() & mask >> (random() % bits));
  }
}

// Of errors that lie at, and next to, the threshold and the worst one, a filter must be as exact as what it replaces.
TEST(ElementKernels, AgreeWithTheHostWhereFiltersHaveToBeExact) {
  std::mt19937_64 random(4);
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f8e4m3, ElementType::f8e5m2, ElementType::f32,
                                 ElementType::i8, ElementType::u16, ElementType::i32, ElementType::u32}) {
    const uint64_t size = size_of(type).count, elements = 2000;
    for (int round = 0; round < 300; ++round) {
      alignas(16) static uint8_t recorded[8192], actual[8192];
      // Few different ones in some rounds, so that the same error comes again and again.
      const uint64_t kinds = round % 3 == 0 ? 1 + random() % 4 : elements;
      for (uint64_t i = 0; i < elements; ++i) {
        uint64_t r = random(), a = changed(r & ~uint64_t{0} >> (64 - 8 * size), 8 * size, random);
        if (i >= kinds) std::memcpy(&r, recorded + i % kinds * size, size), std::memcpy(&a, actual + i % kinds * size, size);
        if (round % 5 == 0 && i % 7 != 0) a = r;
        std::memcpy(recorded + i * size, &r, size);
        std::memcpy(actual + i * size, &a, size);
      }
      const auto bytes = [&](const uint8_t* from, uint64_t first, uint64_t count) {
        return std::as_bytes(std::span(from + first * size, count * size));
      };
      const auto kind = static_cast<ErrorKind>(random() % 3);
      const auto nan = static_cast<NanPolicy>(random() % 3);
      // The error of one of them, or of its neighbours, or something else.
      const uint64_t one = random() % elements;
      double threshold = tally_host_elements(type, bytes(actual, one, 1), bytes(recorded, one, 1), 0,
                                             measure_of({type, 0, kind, Norm::none, nan}))
                             .worst;
      const double others[] = {
          0, 1e-310, 0x1p-140, 1e-30, 1e-7, 0.5, 1, 3e7, 1e38, 1e300, std::numeric_limits<double>::infinity()};
      switch (random() % 4) {
        case 0: threshold = std::nextafter(threshold, 0); break;
        case 1: threshold *= 1 + 1e-7; break;
        case 2: threshold = others[random() % std::size(others)]; break;
        default: break;
      }
      const element::Measure measure = measure_of({type, threshold, kind, Norm::none, nan});
      const Tally tally = run_kernel(type, actual, recorded, elements, measure, 1, 3);  // which each see many
      const Tally expected = tally_host_elements(type, bytes(actual, 0, elements), bytes(recorded, 0, elements), 0, measure);
      const std::string what =
          fmt::format("{} {} {} {}, round {}", to_string(type), to_string(kind), threshold, to_string(nan), round);
      ASSERT_EQ(tally.failing, expected.failing) << what;
      ASSERT_EQ(tally.first_failing, expected.first_failing) << what;
      ASSERT_EQ(tally.worst, expected.worst) << what;
      ASSERT_EQ(tally.worst_at, expected.worst_at) << what;
    }
  }
}

}  // namespace
}  // namespace mneme::gpu
