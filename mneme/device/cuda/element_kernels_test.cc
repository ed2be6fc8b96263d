// The element kernels, run on the host a thread after another, say what the host's comparison says.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "mneme/device/cuda/element_kernels_host.h"
#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/element_comparison.h"

namespace mneme::cuda {
namespace {

using element::Tally;

constexpr unsigned kThreads = 64, kBlocks = 3;

Tally run_kernel(ElementType type, const uint8_t* actual, const uint8_t* recorded, uint64_t elements,
                 const element::Measure& measure) {
  std::vector<Tally> tallies(kBlocks);
  const auto kernel = host::elements::kKernels[static_cast<size_t>(type)].kernel;
  host::run(kBlocks, kThreads, [&] { kernel(actual, recorded, elements, measure, tallies.data()); });
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

TEST(ElementKernels, EveryTypeHasItsKernelInThePtxAndEachStandsAlone) {
  const std::string_view ptx = element_kernels_ptx();
  EXPECT_EQ(ptx.data()[ptx.size()], '\0');
  for (int t = 0; t <= static_cast<int>(ElementType::complex128); ++t) {
    const std::string name = fmt::format("mneme_elements_{}", to_string(static_cast<ElementType>(t)));
    const std::string alone = ptx_of_kernel(ptx, name);
    EXPECT_TRUE(alone.find(".target sm_70") < alone.find(".visible .entry " + name + "(")) << name;
    EXPECT_EQ(alone.find(".entry"), alone.rfind(".entry")) << name;
    EXPECT_EQ(std::count(alone.begin(), alone.end(), '{'), std::count(alone.begin(), alone.end(), '}')) << name;
    EXPECT_EQ(name, host::elements::kKernels[t].name);
  }
}

}  // namespace
}  // namespace mneme::cuda
