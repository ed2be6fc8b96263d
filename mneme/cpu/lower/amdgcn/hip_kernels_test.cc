// Kernels of HIP on the CPU device: what clang makes of testing/kernels.hip, lowered and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "mneme/cpu/lower/amdgcn/testing/hip_test.h"

namespace mneme::cpu::amdgcn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST_P(HipKernelsTest, AWaveKeepsStepWhereThereIsNoBarrier) {
  if (std::string_view(GetParam().pipeline) == "verify") return;  // no pass has found that the pointers are of LDS
  load("in_step");
  const int n = static_cast<int>(wave_size());
  std::vector<int32_t> out(static_cast<size_t>(6 * n));
  ASSERT_OK(run("in_step", {{1, 1, 1}, {static_cast<uint32_t>(n), 1, 1}, {}}, address(out.data())));
  for (int lane = 0; lane < n; ++lane) {
    const int across = lane / 16 * 16 + lane % 4 * 4 + lane / 4 % 4;  // the lane at the mirrored place of the tile
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(out[static_cast<size_t>(i * n + lane)], across + 100 * i) << lane;
      EXPECT_EQ(out[static_cast<size_t>((3 + i) * n + lane)], lane + 100 * i + 1000) << lane;
    }
  }
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

TEST_P(HipKernelsTest, ConstantPlacesWithinLds) {
  load("constant_places");
  std::vector<int32_t> out(32);
  for (int which : {0, 1}) {
    ASSERT_OK(run("constant_places", {{}, {32, 1, 1}, {}}, address(out.data()), int32_t{which}));
    EXPECT_THAT(out, testing::Each((which ? 5 : 51) + 7 + 52));
  }
}

TEST_P(HipKernelsTest, PointersOf32Bits) {
  load("lds_pointers");
  std::vector<int32_t> out(64);
  ASSERT_OK(run("lds_pointers", {{}, {64, 1, 1}, {}}, address(out.data())));
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], 12000 + 11 + 7 * (3 + i % 4) + 300000 + 7 * (i - i % 2)) << i;
}

TEST_P(HipKernelsTest, ShufflesWithinAWave) {
  load("wave_sum");
  const uint32_t wave = wave_size();
  std::vector<int32_t> in(512), sums(512 / wave);
  std::iota(in.begin(), in.end(), 0);
  ASSERT_OK(run("wave_sum", {{2, 1, 1}, {256, 1, 1}, {}}, address(in.data()), address(sums.data())));
  for (uint32_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], static_cast<int32_t>(wave * (i * wave) + wave * (wave - 1) / 2));

  load("shuffles");
  const int n = 128, w = static_cast<int>(wave);
  std::vector<int32_t> out(5 * n);
  ASSERT_OK(run("shuffles", {{1, 1, 1}, {n, 1, 1}, {}}, address(out.data())));
  for (int t = 0; t < n; ++t) {
    const int lane = t % w, first = t - lane;
    ASSERT_EQ(out[t], 1000 + first + (t + 3) % w);
    ASSERT_EQ(out[n + t], 1000 + (lane < 2 ? t : t - 2));
    ASSERT_EQ(out[2 * n + t], 1000 + (t ^ 5));
    ASSERT_EQ(out[3 * n + t], 1000 + t / 8 * 8 + 1);
    ASSERT_EQ(out[4 * n + t], 3 * (1000 + (lane == w - 1 ? t : t + 1)));
  }
}

TEST_P(HipKernelsTest, VotesHaveABitForEachLane) {
  load("votes");
  const int n = 128, w = static_cast<int>(wave_size());
  std::vector<int32_t> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * 7 % 10;
  std::vector<uint64_t> out(4 * n);
  ASSERT_OK(run("votes", {{1, 1, 1}, {n, 1, 1}, {}}, address(in.data()), address(out.data())));
  for (int t = 0; t < n; ++t) {
    uint64_t expected = 0;
    for (int lane = 0; lane < w; ++lane) expected |= uint64_t{in[t / w * w + lane] > 3} << lane;
    ASSERT_EQ(out[4 * t], expected);
    ASSERT_EQ(out[4 * t + 1], 1u);
    ASSERT_EQ(out[4 * t + 2], static_cast<uint64_t>(t % w));
    ASSERT_EQ(out[4 * t + 3], t % 2 == 0 ? 0 : 0xaaaaaaaaaaaaaaaa >> (64 - w));
  }
}

TEST_P(HipKernelsTest, LanesThatPartComeTogetherAgain) {
  load("divergent");
  const int n = 128, w = static_cast<int>(wave_size());
  std::vector<int32_t> in(n), out(2 * n);
  for (int i = 0; i < n; ++i) in[i] = i * 37 % 101;
  ASSERT_OK(run("divergent", {{1, 1, 1}, {n, 1, 1}, {}}, address(in.data()), address(out.data())));
  for (int t = 0; t < n; ++t) {
    const auto count = [&](auto condition) {
      return static_cast<int>(std::count_if(in.begin() + t / w * w, in.begin() + t / w * w + w, condition));
    };
    int expected = 0;
    if (in[t] % 3 < 2) expected = 100 * (in[t] % 3) + count([&](int value) { return value % 3 == in[t] % 3; });
    for (int i = 0; i < in[t] % 5; ++i) expected += 1000 * count([&](int value) { return value % 5 > i; });
    ASSERT_EQ(out[t], expected) << t;
    ASSERT_EQ(out[n + t], w);
  }
  load("two_calls");
  ASSERT_OK(run("two_calls", {{1, 1, 1}, {n, 1, 1}, {}}, address(out.data())));
  for (int t = 0; t < n; ++t) ASSERT_EQ(out[t], t % 4 == 0 ? w / 4 : 100 + w / 4 * 3);
}

TEST_P(HipKernelsTest, DataParallelPrimitives) {
  load("dpp");
  const int n = 128, w = static_cast<int>(wave_size());
  std::vector<int32_t> out(9 * n);
  ASSERT_OK(run("dpp", {{1, 1, 1}, {n, 1, 1}, {}}, address(out.data())));
  for (int t = 0; t < n; ++t) {
    const int place = t % 16, row = t % w / 16, bank = place / 4, lane = t % w;
    const auto at = [&](int k) { return out[k * n + t]; };
    ASSERT_EQ(at(0), t ^ 3);
    ASSERT_EQ(at(1), place + 3 < 16 ? t + 3 : -1);
    ASSERT_EQ(at(2), place >= 2 ? t - 2 : 0);
    ASSERT_EQ(at(3), t - place + (place + 15) % 16);
    ASSERT_EQ(at(4), row % 2 == 0 ? t ^ 15 : -1);
    ASSERT_EQ(at(5), bank < 2 ? t ^ 7 : -1);
    if (w == 64) {
      ASSERT_EQ(at(6), row % 2 == 1 ? t - place - 1 : -1);
      ASSERT_EQ(at(7), row >= 2 ? t - lane + 31 : -1);
      ASSERT_EQ(at(8), lane > 0 ? t - 1 : -1);
    } else {
      ASSERT_EQ(at(6), t - place + 5);
      ASSERT_EQ(at(7), t ^ 3);
      ASSERT_EQ(at(8), t ^ 16);
    }
  }
}

TEST_P(HipKernelsTest, ValuesOfOtherLanes) {
  load("lanes");
  const int n = 128, w = static_cast<int>(wave_size());
  std::vector<int32_t> out(7 * n);
  ASSERT_OK(run("lanes", {{1, 1, 1}, {n, 1, 1}, {}}, address(out.data())));
  for (int t = 0; t < n; ++t) {
    const int first = t - t % w;
    ASSERT_EQ(out[t], first + 7);
    ASSERT_EQ(out[n + t], 3 * (first + 9));
    ASSERT_EQ(out[2 * n + t], first + (t - 5 + w) % w);
    ASSERT_EQ(out[3 * n + t], t ^ 1);
    ASSERT_EQ(out[4 * n + t], t ^ 3);
    ASSERT_EQ(out[5 * n + t], t % 2 ? first + 1 : -1);
    ASSERT_EQ(out[6 * n + t], t ^ 7);
  }
}

TEST_P(HipKernelsTest, AReadOfALaneThatIsElsewhereIsAFault) {
  load("lane_elsewhere");
  std::vector<int32_t> out(64);
  EXPECT_THAT(run("lane_elsewhere", {{}, {64, 1, 1}, {}}, address(out.data())).message(),
              HasSubstr("a read of lane 4, which has taken another way: its register is not known"));
}

TEST_P(HipKernelsTest, WhatAKernelPrintsIsPrinted) {
  load("prints");
  testing::internal::CaptureStdout();
  const Status status = run("prints", {{}, {4, 1, 1}, {}}, int32_t{7}, address("a word of more than eight letters"));
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  ASSERT_OK(status);
  EXPECT_EQ(text, "7 of a word of more than eight letters:  2.50, x, 1234567890123%\nplain\n");
}

TEST_P(HipKernelsTest, AnAssertionThatFailsIsAFault) {
  load("asserts");
  testing::internal::CaptureStderr();
  const Status status = run("asserts", {{}, {1, 1, 1}, {}}, int32_t{3});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Assertion `n > 3 && \"small\"` failed."));
  EXPECT_EQ(status.code(), Code::device_fault);
  EXPECT_THAT(status.message(), HasSubstr("Assertion `n > 3 && \"small\"` failed."));
}

TEST_P(HipKernelsTest, BlocksOfACooperativeLaunchMeet) {
  load("whole_grid");
  const int n = 6 * 32;
  std::vector<int32_t> values(n), out(n);
  LaunchShape shape{{6, 1, 1}, {32, 1, 1}, {}};
  shape.cooperative = true;
  ASSERT_OK(run("whole_grid", shape, address(values.data()), address(out.data())));
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(out[i], 3 * ((i + 32) % n));
    ASSERT_EQ(values[i], i % 32 ^ 3);
  }
  shape.cooperative = false;
  EXPECT_THAT(run("whole_grid", shape, address(values.data()), address(out.data())).message(),
              HasSubstr("a barrier of the grid in a launch that is not cooperative"));
}

TEST_P(HipKernelsTest, TheHeap) {
  load("allocates");
  std::array<int32_t, 3> cells{};
  std::array<int32_t*, 3> out = {&cells[0], &cells[1], &cells[2]};
  ASSERT_OK(run("allocates", {{}, {3, 1, 1}, {}}, address(out.data()), int32_t{5}));
  EXPECT_THAT(cells, ElementsAre(0, 4, 8));
}

}  // namespace
}  // namespace mneme::cpu::amdgcn
