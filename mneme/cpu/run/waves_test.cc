// Collectives of wavefronts, and what a launch tells AMDGCN code.
#include <gmock/gmock.h>

#include "mneme/cpu/run/dispatch.h"
#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

using testing::Each;
using testing::ElementsAre;
using Words = std::vector<uint32_t>;

class WavesTest : public ExecutorTest {};

TEST_F(WavesTest, HaveAsManyLanesAsTheKernelSays) {
  const LaunchShape shape{.grid = {1, 1, 1}, .block = {100, 1, 1}};
  const Words wide = output("vote_by_waves_of_64", shape, 400, {.a = 70});
  const Words narrow = output("vote_by_waves_of_32", shape, 400, {.a = 70});
  for (uint32_t i = 0; i < 100; ++i) {
    if (i == 70) continue;
    const uint64_t lanes = i < 64 ? ~uint64_t{0} : 0xfffffffff & ~(uint64_t{1} << 6);  // 36 lanes, of which one has ended
    EXPECT_THAT(Words(&wide[4 * i], &wide[4 * i] + 4),
                ElementsAre(i % 64, i / 64, static_cast<uint32_t>(lanes), static_cast<uint32_t>(lanes >> 32)));
    const uint32_t few = i < 64 ? ~uint32_t{0} : i < 96 ? ~(uint32_t{1} << 6) : 0xf;
    EXPECT_THAT(Words(&narrow[4 * i], &narrow[4 * i] + 4), ElementsAre(i % 32, i / 32, few, 0));
  }
}

TEST_F(WavesTest, LanesMeetAtTheirSiteAndThenAgain) {
  const Words out = output("wave_sites", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 192, {.a = 7});
  for (uint32_t lane = 0; lane < 64; ++lane)
    EXPECT_THAT(Words(&out[3 * lane], &out[3 * lane] + 3), ElementsAre(lane < 7 ? 105 : 0, lane < 7 ? 1 : 0, 0)) << lane;
}

TEST_F(WavesTest, OfSeveralValuesThatAreSentToALaneTheHighestCounts) {
  const Words out = output("wave_push", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 64);
  for (uint32_t lane = 0; lane < 64; ++lane) EXPECT_EQ(out[lane], lane % 2 == 0 ? lane + 1 : 0);
}

TEST_F(WavesTest, AThreadKnowsItsOwnStack) {
  EXPECT_THAT(output("wave_in_stack", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 32), Each(1u));
}

TEST(Dispatch, TellsOfTheLaunch) {
  mneme_cpu_kernel kernel{};
  kernel.static_shared_bytes = 64;
  const LaunchShape shape{.grid = {3, 4, 5}, .block = {64, 2, 1}, .dynamic_shared_memory = Bytes(32)};
  const mneme_cpu_dispatch dispatch = describe_dispatch(kernel, shape, &kernel);
  EXPECT_THAT(dispatch.workgroup_size, ElementsAre(64, 2, 1));
  EXPECT_THAT(dispatch.grid_size, ElementsAre(192, 8, 5));
  EXPECT_THAT(dispatch.block_count, ElementsAre(3u, 4u, 5u));
  EXPECT_THAT(dispatch.group_size, ElementsAre(64, 2, 1));
  EXPECT_THAT(dispatch.remainder, Each(0));
  EXPECT_EQ(dispatch.group_segment_size, 96u);
  EXPECT_EQ(dispatch.dynamic_lds_size, 32u);
  EXPECT_EQ(dispatch.kernarg_address, &kernel);
}

}  // namespace
}  // namespace mneme::cpu
