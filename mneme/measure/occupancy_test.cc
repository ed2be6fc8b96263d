#include "mneme/measure/occupancy.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

struct OneKernel : Kernel {
  explicit OneKernel(std::optional<uint32_t> blocks) : blocks(blocks) {}
  Result<std::optional<uint32_t>> active_blocks(const LaunchShape& shape) const override {
    if (shape.block.volume() > 1024) return error(Code::invalid_argument, "too many");
    return blocks;
  }
  std::optional<uint32_t> blocks;
};

Result<std::optional<Occupancy>> occupancy(std::optional<uint32_t> blocks, Dim3 block, uint32_t most_threads = 2048) {
  DeviceProperties device;
  device.warp_size = 32;
  device.max_threads_per_multiprocessor = most_threads;
  return occupancy_of(OneKernel(blocks), {{1000, 1, 1}, block, {}, false}, device);
}

TEST(Occupancy, IsTheWarpsOfAllBlocksOverThoseThatFit) {
  const std::tuple<uint32_t, Dim3, double> kShapes[] = {
      {2, {1024, 1, 1}, 1.0},   {1, {1024, 1, 1}, 0.5},
      {8, {32, 2, 2}, 0.5},     {8, {33, 1, 1}, 0.25},  // the last warp of a block is begun
      {1, {1, 1, 1}, 1.0 / 64}, {0, {64, 1, 1}, 0.0},
  };
  for (const auto& [blocks, block, warps] : kShapes) {
    auto found = occupancy(blocks, block);
    ASSERT_TRUE(found.ok() && *found) << block.x;
    EXPECT_EQ((*found)->active_blocks, blocks);
    EXPECT_EQ((*found)->warps, warps) << block.x;
  }
}

TEST(Occupancy, IsNotKnownWhereTheDeviceHasNoLimits) {
  EXPECT_FALSE(occupancy({}, {64, 1, 1})->has_value());
  EXPECT_FALSE(occupancy(2, {64, 1, 1}, 0)->has_value());
  EXPECT_EQ(occupancy(2, {2048, 1, 1}).status().message(), "too many");
}

}  // namespace
}  // namespace mneme
