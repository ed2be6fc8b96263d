// Kernels of HIP on the CPU device: what clang makes of testing/kernels.hip, lowered and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "mneme/cpu/lower/amdgcn/testing/hip_test.h"

namespace mneme::cpu::amdgcn {
namespace {

using testing::ElementsAre;

class HipKernelsTest : public HipTest {};
INSTANTIATE_TEST_SUITE_P(Targets, HipKernelsTest, testing::ValuesIn(hip_targets()), target_name);

TEST_P(HipKernelsTest, EachWorkItemFindsItsElement) {
  load("add");
  std::vector<float> a(1000), b(1000, 0.5f), c(1000, -1.0f);
  std::iota(a.begin(), a.end(), 0.0f);
  ASSERT_OK(run("add", {{16, 1, 1}, {64, 1, 1}, {}}, address(a.data()), address(b.data()), address(c.data()), int32_t{999}));
  for (int i = 0; i < 999; ++i) ASSERT_EQ(c[i], i + 0.5f) << i;
  EXPECT_EQ(c[999], -1.0f);
}

TEST_P(HipKernelsTest, AStructureByValueIsEachWorkItemsOwn) {
  struct Numbers {
    char first;
    double values[3];
    short last;
  };
  load("by_value");
  std::vector<double> out(6);
  const Numbers numbers{1, {10, 20, 30}, 2};
  ASSERT_OK(run("by_value", {{}, {6, 1, 1}, {}}, char{100}, numbers, address(out.data())));
  EXPECT_THAT(out, ElementsAre(113, 124, 133, 113, 127, 133));
}

TEST_P(HipKernelsTest, IdsAndExtentsInThreeDimensions) {
  load("places");
  const Dim3 grid{3, 2, 2}, block{4, 3, 2};
  std::vector<uint32_t> out(10 * grid.volume() * block.volume());
  ASSERT_OK(run("places", {grid, block, {}}, address(out.data())));
  const uint32_t* at = out.data();
  for (uint32_t bz = 0; bz < 2; ++bz)
    for (uint32_t by = 0; by < 2; ++by)
      for (uint32_t bx = 0; bx < 3; ++bx)
        for (uint32_t z = 0; z < 2; ++z)
          for (uint32_t y = 0; y < 3; ++y)
            for (uint32_t x = 0; x < 4; ++x, at += 10)
              ASSERT_THAT(std::vector<uint32_t>(at, at + 10), ElementsAre(x, y, z, bx, by, bz, 3, 2, 2, wave_size()));
}

TEST_P(HipKernelsTest, VariablesOfTheDevice) {
  load("globals");
  std::vector<int32_t> out(5);
  ASSERT_OK(run("globals", {{}, {5, 1, 1}, {}}, address(out.data())));
  EXPECT_THAT(out, ElementsAre(15, 20, 30, 40, 10));
  ASSERT_OK(run("globals", {{}, {5, 1, 1}, {}}, address(out.data())));
  EXPECT_EQ(out[0], 16);
}

TEST_P(HipKernelsTest, PrivateMemoryAndPointersToIt) {
  load("private_memory");
  std::vector<int32_t> out(64);
  ASSERT_OK(run("private_memory", {{}, {64, 1, 1}, {}}, address(out.data()), int32_t{5}));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 5 * i + 10);
}

TEST_P(HipKernelsTest, LdsAndBarriers) {
  load("reverse");
  std::vector<float> in(512), out(512);
  std::iota(in.begin(), in.end(), 0.0f);
  ASSERT_OK(run("reverse", {{2, 1, 1}, {256, 1, 1}, {}}, address(in.data()), address(out.data())));
  for (int i = 0; i < 512; ++i) ASSERT_EQ(out[i], in[i / 256 * 256 + 255 - i % 256]);

  load("block_sum");
  std::vector<int32_t> numbers(512), sums(2);
  std::iota(numbers.begin(), numbers.end(), 0);
  ASSERT_OK(run("block_sum", {{2, 1, 1}, {256, 1, 1}, {}}, address(numbers.data()), address(sums.data())));
  EXPECT_THAT(sums, ElementsAre(255 * 128, 255 * 128 + 256 * 256));
}

TEST_P(HipKernelsTest, LdsOfTheLaunchLiesBehindTheKernelsOwn) {
  load("dynamic_lds");
  std::vector<int32_t> out(40);
  ASSERT_OK(run("dynamic_lds", {{}, {40, 1, 1}, Bytes{160}}, address(out.data()), int32_t{40}));
  for (int i = 0; i < 40; ++i) ASSERT_EQ(out[i], (i + 1) % 40 + 100 * (i % 3));
}

TEST_P(HipKernelsTest, PointersOf32Bits) {
  load("lds_pointers");
  std::vector<int32_t> out(64);
  ASSERT_OK(run("lds_pointers", {{}, {64, 1, 1}, {}}, address(out.data())));
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], 12000 + 11 + 7 * (3 + i % 4) + 300000 + 7 * (i - i % 2)) << i;
}

}  // namespace
}  // namespace mneme::cpu::amdgcn
