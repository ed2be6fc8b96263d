#include "mneme/snapshot/snapshot.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(Pages, AreAlignedByAddress) {
  const uint64_t page = kPageSize.count;
  DevicePtr address(3 * page + 512);
  EXPECT_EQ(page_count(address, Bytes(1)), 1u);
  EXPECT_EQ(page_count(address, Bytes(page - 512)), 1u);
  EXPECT_EQ(page_count(address, Bytes(page - 511)), 2u);
  EXPECT_EQ(page_count(address, Bytes(0)), 0u);
  PageExtent first = page_extent(address, Bytes(2 * page), 0), second = page_extent(address, Bytes(2 * page), 1),
             last = page_extent(address, Bytes(2 * page), 2);
  EXPECT_EQ(first.address, address);
  EXPECT_EQ(first.size, Bytes(page - 512));
  EXPECT_EQ(second.address, DevicePtr(4 * page));
  EXPECT_EQ(second.size, Bytes(page));
  EXPECT_EQ(last.size, Bytes(512));
}

TEST(DynamicHash, FollowsShapeArgumentsAndMemoryButNotWhenOrWhere) {
  InstanceRecord instance;
  instance.grid = {2, 1, 1};
  instance.parameters = ByteVector(8, std::byte{1});
  MemoryState state;
  state.regions.push_back({Region::Kind::allocation, DevicePtr(0x10000), Bytes(4), "", {Digest{}}});
  Digest hash = dynamic_hash(instance, state);

  InstanceRecord later = instance;
  later.recorded_at = "2026-01-01T00:00:00Z";
  later.device_name = "another";
  EXPECT_EQ(dynamic_hash(later, state), hash);

  InstanceRecord other = instance;
  other.block = {2, 1, 1};
  EXPECT_NE(dynamic_hash(other, state), hash);
  other = instance;
  other.parameters[7] = std::byte{2};
  EXPECT_NE(dynamic_hash(other, state), hash);
  MemoryState changed = state;
  changed.regions[0].pages[0].bytes[0] = 1;
  EXPECT_NE(dynamic_hash(instance, changed), hash);
  EXPECT_EQ(state.bytes(), Bytes(4));
}

}  // namespace
}  // namespace mneme
