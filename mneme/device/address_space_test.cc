#include "mneme/device/address_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace mneme {
namespace {

// Counts granules instead of mapping memory; refuses beyond a number of them.
class CountingSpace final : public AddressSpace {
 public:
  static constexpr uint64_t kGranule = 4096;
  CountingSpace(DevicePtr base, Bytes size, size_t most = SIZE_MAX) : AddressSpace(base, size, Bytes(kGranule)), most_(most) {}
  const std::set<uint64_t>& mapped() const { return mapped_; }
  void refuse_to_unmap() { refuses_ = true; }

 protected:
  Status map_impl(DevicePtr address, Bytes size) override {
    if (mapped_.size() + size.count / kGranule > most_) return error(Code::exhausted, "the device is full");
    for (uint64_t at = address.address; at < address.address + size.count; at += kGranule) EXPECT_TRUE(mapped_.insert(at).second);
    return {};
  }
  Status unmap_impl(DevicePtr address, Bytes size) override {
    if (refuses_) return error(Code::device_fault, "the device was lost");
    for (uint64_t at = address.address; at < address.address + size.count; at += kGranule) EXPECT_EQ(mapped_.erase(at), 1u);
    return {};
  }

 private:
  size_t most_;
  bool refuses_ = false;
  std::set<uint64_t> mapped_;
};

constexpr DevicePtr kBase{0x100000};

TEST(AddressSpace, TakesTheFirstGapThatFits) {
  CountingSpace space(kBase, 64_KiB);
  EXPECT_EQ(*space.allocate(Bytes(1000)), kBase);
  EXPECT_EQ(*space.allocate(Bytes(1)), kBase + Bytes(1024));
  EXPECT_EQ(*space.allocate(Bytes(512)), kBase + Bytes(1536));
  ASSERT_TRUE(space.free(kBase + Bytes(1024)).ok());
  EXPECT_EQ(*space.allocate(Bytes(512)), kBase + Bytes(2560)) << "it would touch what is behind it";
  EXPECT_EQ(*space.allocate(Bytes(511)), kBase + Bytes(1024));
  EXPECT_EQ(space.allocated(), Bytes(1000 + 511 + 512 + 512));
  EXPECT_TRUE(space.contains(kBase));
  EXPECT_FALSE(space.contains(kBase + 64_KiB));
}

TEST(AddressSpace, TheAddressBehindAnAllocationLiesInNoOther) {
  CountingSpace space(kBase, 1_MiB);
  for (uint64_t size : {511, 512, 513, 4096}) ASSERT_TRUE(space.allocate(Bytes(size)).ok());
  for (const MemoryRange& allocation : space.allocations()) EXPECT_FALSE(space.find(allocation.end())) << allocation.size.count;
}

TEST(AddressSpace, AllocatesAtAMultipleOfWhatIsAskedFor) {
  CountingSpace space(kBase + Bytes(512), 1_MiB);
  EXPECT_EQ(*space.allocate(Bytes(8192), Bytes(8192)), kBase + Bytes(8192));
  EXPECT_EQ(*space.allocate(Bytes(8192), Bytes(8192)), kBase + Bytes(3 * 8192)) << "it does not touch the first one";
  EXPECT_EQ(*space.allocate(Bytes(512)), kBase + Bytes(512));
}

TEST(AddressSpace, RefusesWithTheReason) {
  CountingSpace space(kBase, 64_KiB);
  ASSERT_TRUE(space.allocate(Bytes(1024)).ok());
  EXPECT_EQ(space.allocate(Bytes(0)).status().to_string(),
            "invalid_argument: allocating device memory in the range at 0x100000: the size is 0");
  EXPECT_EQ(space.allocate(64_KiB).status().to_string(),
            "exhausted: allocating 64.0 KiB: the range of 64.0 KiB at 0x100000 has 1.00 KiB in use and no gap that large; "
            "reserve a larger range");
  EXPECT_EQ(space.allocate(Bytes(~uint64_t{0})).status().code(), Code::exhausted);
  EXPECT_EQ(space.allocate_at(kBase + Bytes(512), Bytes(8)).to_string(),
            "invalid_argument: allocating 8 B at 0x100200: overlaps the allocation of 1.00 KiB at 0x100000");
  EXPECT_EQ(space.allocate_at(DevicePtr(0x1000), Bytes(8)).to_string(),
            "invalid_argument: allocating 8 B at 0x1000: outside of the range of 64.0 KiB at 0x100000");
  EXPECT_FALSE(space.allocate_at(kBase + Bytes(65536 - 8), Bytes(16)).ok());
  EXPECT_FALSE(space.allocate_at(kBase + Bytes(8192), Bytes(~uint64_t{0})).ok());
  EXPECT_EQ(space.allocate_at(kBase + Bytes(4096), Bytes(0)).to_string(),
            "invalid_argument: allocating 0 B at 0x101000: the size is 0");
  EXPECT_EQ(space.free(kBase + Bytes(512)).to_string(),
            "invalid_argument: freeing 0x100200: no allocation of the range of 64.0 KiB at 0x100000 starts there");
}

TEST(AddressSpace, GivesBackWhatItMappedWhenTheDeviceIsFull) {
  CountingSpace space(kBase, 64_KiB, 5);
  ASSERT_TRUE(space.allocate_at(kBase + Bytes(8192), Bytes(100)).ok());
  // Granules 0, 1 and then 3 to 6 would be new: the second run does not fit.
  EXPECT_EQ(space.allocate_at(kBase + Bytes(0), Bytes(7 * 4096)).to_string(),
            "invalid_argument: allocating 28.0 KiB at 0x100000: overlaps the allocation of 100 B at 0x102000");
  EXPECT_EQ(space.allocate_at(kBase + Bytes(8704), Bytes(5 * 4096)).to_string(),
            "exhausted: allocating 20.0 KiB at 0x102200: the device is full");
  EXPECT_EQ(space.mapped(), std::set<uint64_t>{kBase.address + 8192});
  EXPECT_EQ(space.allocations().size(), 1u);
}

// What is marked as mapped, and is not, the next allocation there would go without.
TEST(AddressSpace, AFailedMapLeavesNoGranuleMarked) {
  CountingSpace space(kBase, 64_KiB, 5);
  ASSERT_TRUE(space.allocate_at(kBase + Bytes(2 * 4096), Bytes(100)).ok());
  // Granules 3 to 7 would be new, one too many.
  ASSERT_FALSE(space.allocate_at(kBase + Bytes(2 * 4096 + 512), Bytes(5 * 4096)).ok());
  for (uint64_t granule : {3, 5, 7}) {
    const DevicePtr address = kBase + Bytes(granule * 4096);
    ASSERT_TRUE(space.allocate_at(address, Bytes(4096)).ok());
    EXPECT_TRUE(space.mapped().contains(address.address)) << granule;
    ASSERT_TRUE(space.free(address).ok());
    EXPECT_FALSE(space.mapped().contains(address.address)) << granule;
  }
}

// Against a model: a set of intervals, searched byte by byte at the alignment.
TEST(AddressSpace, AgreesWithASimpleModel) {
  constexpr uint64_t kSize = 1 << 18;
  CountingSpace space(kBase, Bytes(kSize));
  std::map<uint64_t, uint64_t> model;
  std::mt19937_64 random(1);
  auto fits = [&](uint64_t at, uint64_t size) {
    if (at < kBase.address || at + size > kBase.address + kSize) return false;
    return std::none_of(model.begin(), model.end(),
                        [&](const auto& other) { return other.first < at + size && at < other.first + other.second; });
  };
  for (int step = 0; step < 4000; ++step) {
    const uint64_t size = random() % (random() % 8 == 0 ? 60000 : 3000) + 1;
    switch (random() % 3) {
      case 0: {
        uint64_t expected = kBase.address;
        // Allocations do not touch.
        const auto touches = [&](uint64_t at) {
          return model.contains(at + size) ||
                 std::any_of(model.begin(), model.end(), [&](const auto& other) { return other.first + other.second == at; });
        };
        while (expected < kBase.address + kSize && (!fits(expected, size) || touches(expected)))
          expected += AddressSpace::kAlignment.count;
        auto got = space.allocate(Bytes(size));
        ASSERT_EQ(got.ok(), expected < kBase.address + kSize) << step;
        if (!got.ok()) break;
        ASSERT_EQ(got->address, expected);
        model[expected] = size;
        break;
      }
      case 1: {
        const uint64_t at = kBase.address + random() % (kSize + 8192);
        ASSERT_EQ(space.allocate_at(DevicePtr(at), Bytes(size)).ok(), fits(at, size)) << step;
        if (fits(at, size)) model[at] = size;
        break;
      }
      default:
        if (model.empty()) break;
        auto victim = std::next(model.begin(), static_cast<long>(random() % model.size()));
        ASSERT_TRUE(space.free(DevicePtr(victim->first)).ok());
        model.erase(victim);
    }
    std::set<uint64_t> granules;
    for (const auto& [at, bytes] : model) {
      for (uint64_t g = at / CountingSpace::kGranule; g <= (at + bytes - 1) / CountingSpace::kGranule; ++g)
        granules.insert(g * CountingSpace::kGranule);
    }
    ASSERT_EQ(space.mapped(), granules) << step;
  }
  ASSERT_EQ(space.allocations().size(), model.size());
  for (const MemoryRange& allocation : space.allocations())
    ASSERT_EQ(model.at(allocation.address.address), allocation.size.count);
}

TEST(AddressSpace, AnAllocationMayReachTheEndOfTheRange) {
  CountingSpace space(kBase, 64_KiB);
  const DevicePtr address = kBase + Bytes(8192);
  EXPECT_TRUE(space.allocate_at(address, 64_KiB - Bytes(8192)).ok());
  ASSERT_TRUE(space.free(address).ok());
  EXPECT_FALSE(space.allocate_at(address, 64_KiB - Bytes(8191)).ok());
  EXPECT_EQ(*space.allocate(64_KiB), kBase);
}

// Of three neighbours in a row of granules, each of which shares its ends with another.
TEST(AddressSpace, AGranuleGoesWithTheLastThatTouchesIt) {
  CountingSpace space(kBase, 64_KiB);
  const uint64_t places[] = {0, 2 * 4096 + 512, 5 * 4096 + 1024}, ends[] = {2 * 4096 + 512, 5 * 4096 + 1024, 7 * 4096};
  for (int i : {0, 2, 1}) ASSERT_TRUE(space.allocate_at(kBase + Bytes(places[i]), Bytes(ends[i] - places[i])).ok());
  EXPECT_EQ(space.mapped().size(), 7u);
  ASSERT_TRUE(space.free(kBase + Bytes(places[1])).ok());
  EXPECT_EQ(space.mapped().size(), 5u);
  EXPECT_TRUE(space.mapped().contains(kBase.address + 2 * 4096) && space.mapped().contains(kBase.address + 5 * 4096));
  ASSERT_TRUE(space.free(kBase + Bytes(places[0])).ok());
  EXPECT_EQ(space.mapped().size(), 2u);
  ASSERT_TRUE(space.free(kBase + Bytes(places[2])).ok());
  EXPECT_TRUE(space.mapped().empty());
}

TEST(AddressSpace, WhatTheDeviceDoesNotTakeBackIsTold) {
  CountingSpace space(kBase, 64_KiB);
  ASSERT_TRUE(space.allocate(Bytes(100)).ok());
  space.refuse_to_unmap();
  EXPECT_EQ(space.free(kBase).to_string(), "device_fault: the device was lost");
}

}  // namespace
}  // namespace mneme
