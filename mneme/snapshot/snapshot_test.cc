#include "mneme/snapshot/snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "mneme/snapshot/testing/each_member.h"

namespace mneme {
namespace {

TEST(Pages, AreAlignedByAddress) {
  const uint64_t page = kPageSize.count;
  DevicePtr address(3 * page + 512);
  EXPECT_EQ(page_count({address, Bytes(1)}), 1u);
  EXPECT_EQ(page_count({address, Bytes(page - 512)}), 1u);
  EXPECT_EQ(page_count({address, Bytes(page - 511)}), 2u);
  EXPECT_EQ(page_count({address, Bytes(0)}), 0u);
  MemoryRange first = page_extent({address, Bytes(2 * page)}, 0), second = page_extent({address, Bytes(2 * page)}, 1),
              last = page_extent({address, Bytes(2 * page)}, 2);
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

TEST(DynamicHash, OfALaunchWithoutClustersIsWhatItWasBeforeTheyWereRecorded) {
  InstanceRecord instance;
  instance.parameters = ByteVector(8, std::byte{1});
  EXPECT_EQ(dynamic_hash(instance, {}).hex(), "0602c73b5ab164ba41cf401da4dabfe3");
  const Digest without = dynamic_hash(instance, {});
  instance.cluster = {1, 1, 1};
  EXPECT_NE(dynamic_hash(instance, {}), without) << "a launch in clusters of one block has cluster instructions all the same";
}

TEST(CodeLevel, IsToldInWords) {
  KernelRecord kernel;
  EXPECT_EQ(recorded_as(kernel), "the kernel was recorded as LLVM IR");
  kernel.level = CodeLevel::ptx;
  EXPECT_EQ(recorded_as(kernel), "the kernel was recorded as PTX");
  kernel.level = CodeLevel::cubin;
  EXPECT_EQ(recorded_as(kernel), "the kernel was recorded as machine code (cubin)");
}

TEST(CodeLevel, FindsAnImageByItsKind) {
  KernelRecord kernel;
  EXPECT_EQ(kernel.find_image(CodeImageRecord::Kind::ptx), nullptr);
  kernel.images = {{CodeImageRecord::Kind::cubin, {}, Bytes(1)}, {CodeImageRecord::Kind::ptx, {}, Bytes(2)}};
  EXPECT_EQ(kernel.find_image(CodeImageRecord::Kind::ptx)->size, Bytes(2));
}

// When and by what a launch was recorded, and what is known of it besides, is no part of what it is.
TEST(DynamicHash, EveryMemberCountsThatMakesTheLaunch) {
  const std::set<std::string> of_the_record = {"dynamic_hash", "device_kind",    "device_name",   "space_base",  "space_size",
                                               "state_bytes",  "recorded_at",    "mneme_version", "annotations", "recorded_time",
                                               "attributes",   "shape_launches", "memory_extent", "trimmed"};
  InstanceRecord instance;
  instance.parameters = ByteVector(8);
  instance.annotations = {{DevicePtr(0x10000), Bytes(4), "", {}}};
  instance.recorded_time = RecordedTime{"cupti_activity", 1250.5, 3, 1000, 1100.25};
  instance.shape_launches = ShapeLaunches{12, 13203.0};
  MemoryState state;
  state.regions = {{Region::Kind::allocation, DevicePtr(0x10000), Bytes(16), "", {Digest{}}}};
  std::map<Digest, std::string> seen{{dynamic_hash(instance, state), "none"}};
  const auto see = [&](const std::string& name) {
    const bool counts = !of_the_record.contains(name.substr(0, name.find('.')));
    EXPECT_EQ(seen.try_emplace(dynamic_hash(instance, state), name).second, counts) << name;
  };
  testing_members::change_each(instance, see);
  testing_members::change_each(state.regions[0], see);
  testing_members::change(state.regions, {}, "regions", see);
  testing_members::change(instance.parameters, ByteVector(9), "the arguments' size", see);
}

}  // namespace
}  // namespace mneme
