#include "mneme/base/range_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mneme {
namespace {

constexpr MemoryRange range(uint64_t address, uint64_t size) { return {DevicePtr(address), Bytes(size)}; }

TEST(MemoryRange, HoldsItsBytesAndNotTheOneBehind) {
  const MemoryRange memory = range(100, 10);
  EXPECT_FALSE(memory.contains(DevicePtr(99)));
  EXPECT_TRUE(memory.contains(DevicePtr(100)));
  EXPECT_TRUE(memory.contains(DevicePtr(109)));
  EXPECT_FALSE(memory.contains(DevicePtr(110)));
  EXPECT_FALSE(range(100, 0).contains(DevicePtr(100)));
  EXPECT_TRUE(memory.contains(range(100, 10)));
  EXPECT_FALSE(memory.contains(range(100, 11)));
  EXPECT_FALSE(memory.contains(range(99, 5)));
}

TEST(MemoryRange, OverlapsWhereAByteIsShared) {
  const MemoryRange memory = range(100, 10);
  EXPECT_TRUE(memory.overlaps(range(109, 1)));
  EXPECT_FALSE(memory.overlaps(range(110, 1)));
  EXPECT_TRUE(memory.overlaps(range(90, 11)));
  EXPECT_FALSE(memory.overlaps(range(90, 10)));
  EXPECT_TRUE(memory.overlaps(range(104, 2)));
  EXPECT_FALSE(memory.overlaps(range(104, 0)));
  EXPECT_FALSE(range(104, 0).overlaps(memory));
}

TEST(RangeMap, FindsTheRangeThatHoldsAnAddress) {
  RangeMap<std::string> map;
  EXPECT_EQ(map.find(DevicePtr(100)), nullptr);
  map.set(range(100, 10), "first");
  map.set(range(110, 10), "second");
  map.set(range(200, 1), "third");
  EXPECT_EQ(map.find(DevicePtr(99)), nullptr);
  ASSERT_NE(map.find(DevicePtr(109)), nullptr);
  EXPECT_EQ(map.find(DevicePtr(109))->value, "first");
  EXPECT_EQ(map.find(DevicePtr(110))->value, "second");
  EXPECT_EQ(map.find(DevicePtr(120)), nullptr);
  EXPECT_EQ(map.find(DevicePtr(200))->range, range(200, 1));
  EXPECT_EQ(map.find_start(DevicePtr(101)), nullptr);
  EXPECT_EQ(map.find_start(DevicePtr(110))->value, "second");
}

TEST(RangeMap, ARangeReplacesTheOneThatStartsThere) {
  RangeMap<int> map;
  map.set(range(100, 10), 1);
  map.set(range(100, 5), 2);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.find(DevicePtr(104))->value, 2);
  EXPECT_EQ(map.find(DevicePtr(105)), nullptr);
}

TEST(RangeMap, WhatOverlapsStandsTogether) {
  RangeMap<> map;
  for (uint64_t address : {100, 110, 130}) map.set(range(address, 10));
  auto found = map.first_overlap(range(105, 10));
  ASSERT_NE(found, map.end());
  EXPECT_EQ(found->range, range(100, 10));
  EXPECT_EQ((++found)->range, range(110, 10));
  EXPECT_EQ(map.first_overlap(range(120, 10)), map.end());
  EXPECT_EQ(map.first_overlap(range(120, 11))->range, range(130, 10));
  EXPECT_EQ(map.first_overlap(range(0, 100)), map.end());
  EXPECT_EQ(map.first_overlap(range(140, 100)), map.end());
}

TEST(RangeMap, EntriesGoOneByOne) {
  RangeMap<int> map;
  for (int i = 0; i < 4; ++i) map.set(range(100 + 10 * static_cast<uint64_t>(i), 10), i);
  for (auto next = map.begin(); next != map.end();) next = next->value % 2 == 0 ? map.erase(next) : std::next(next);
  std::vector<int> left;
  for (const auto& [memory, value] : map) left.push_back(value);
  EXPECT_EQ(left, (std::vector<int>{1, 3}));
  EXPECT_TRUE(map.erase_start(DevicePtr(110)));
  EXPECT_FALSE(map.erase_start(DevicePtr(110)));
  EXPECT_EQ(map.size(), 1u);
}

}  // namespace
}  // namespace mneme
