#include "mneme/record/reachable_memory.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Memory of the fake device, which is the process's own. Places are offsets in it.
class ReachableMemoryTest : public ::testing::Test {
 protected:
  static constexpr size_t kSize = 1 << 20;
  static constexpr uint64_t kReach = ReachableMemory::kReach.count;

  ~ReachableMemoryTest() override { ::munmap(memory, kSize); }

  MemoryRange at(uint64_t place, uint64_t size) const { return {address(place), Bytes(size)}; }
  DevicePtr address(uint64_t place) const { return DevicePtr(reinterpret_cast<uint64_t>(memory) + place); }
  void point(uint64_t from, uint64_t to) {
    const DevicePtr there = address(to);
    std::memcpy(memory + from, &there.address, sizeof there.address);
  }
  uint64_t place_of(DevicePtr there) const { return there.address - reinterpret_cast<uint64_t>(memory); }

  template <typename T>
  static ByteVector bytes_of(std::initializer_list<T> values) {
    const auto bytes = std::as_bytes(std::span(values.begin(), values.size()));
    return {bytes.begin(), bytes.end()};
  }
  ByteVector pointers(std::initializer_list<uint64_t> places) const {
    ByteVector all;
    for (uint64_t place : places) {
      const ByteVector one = bytes_of({address(place).address});
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  // The places of what is reached from these parameters, and from `all.globals`.
  std::vector<uint64_t> reached(ByteSpan parameters) {
    ReachableMemory reachable(all);
    reachable.reach_from_parameters(parameters);
    EXPECT_TRUE(reachable.reach_from(all.globals, *stream).ok());
    EXPECT_TRUE(reachable.follow(*stream).ok());
    kept = all;
    reachable.keep_reached(kept);
    EXPECT_EQ(kept.size(), reachable.size());
    std::vector<uint64_t> places;
    for (const auto* list : {&kept.allocations, &kept.host})
      for (const MemoryRange& range : *list) places.push_back(place_of(range.address));
    return places;
  }

  fake::FakeDevice device;
  std::unique_ptr<Stream> stream = *device.create_stream();
  std::byte* memory = static_cast<std::byte*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  StateCapture::Memory all, kept;
};

TEST_F(ReachableMemoryTest, IsWhatArgumentsPointInto) {
  all.allocations = {at(0, 256), at(0x1000, 256), at(0x2000, 256)};
  EXPECT_THAT(reached({}), IsEmpty());
  EXPECT_THAT(reached(pointers({0x1000})), ElementsAre(0x1000)) << "its begin";
  EXPECT_THAT(reached(pointers({0x10ff})), ElementsAre(0x1000)) << "its last byte";
  EXPECT_THAT(reached(pointers({0x2010, 8})), ElementsAre(0, 0x2000));
  EXPECT_THAT(reached(bytes_of<uint64_t>({0, 1, ~uint64_t{0}})), IsEmpty());
}

TEST_F(ReachableMemoryTest, AnArgumentsAddressMayStandAnywhereAndHaveATag) {
  all.allocations = {at(0, 256), at(0x1000, 256)};
  for (size_t place = 0; place <= 128 - 8; ++place) {
    ByteVector parameters(128, std::byte{1});
    const DevicePtr there = address(0x1000);
    std::memcpy(parameters.data() + place, &there.address, 8);
    EXPECT_THAT(reached(parameters), ElementsAre(0x1000)) << place;
    parameters[place + 7] = std::byte{0xa5};
    EXPECT_THAT(reached(parameters), ElementsAre(0x1000)) << place;
  }
  EXPECT_THAT(reached(ByteVector(7, std::byte{1})), IsEmpty()) << "too short for an address";
}

TEST_F(ReachableMemoryTest, PointersAreFollowedAsFarAsTheyLead) {
  all.allocations = {at(0, 256), at(0x1000, 256), at(0x2000, 4096), at(0x4000, 256), at(0x5000, 256)};
  point(0x10, 0x2100);    // into another
  point(0x2ff8, 0x4000);  // from the last word
  point(0x4000, 0x20);    // back
  point(0x1000, 0x5000);  // of what is not reached
  EXPECT_THAT(reached(pointers({0})), ElementsAre(0, 0x2000, 0x4000));
  EXPECT_THAT(reached(pointers({0x5000})), ElementsAre(0x5000));
  EXPECT_THAT(reached(pointers({0x1000})), ElementsAre(0x1000, 0x5000));
}

TEST_F(ReachableMemoryTest, WordsLieAtMultiplesOfEight) {
  all.allocations = {at(4, 252), at(0x1000, 256)};
  point(12, 0x1000);
  EXPECT_THAT(reached(pointers({4})), ElementsAre(4));
  point(8, 0x1000);
  EXPECT_THAT(reached(pointers({4})), ElementsAre(4, 0x1000));
}

TEST_F(ReachableMemoryTest, VariablesPointToo) {
  all.allocations = {at(0, 256), at(0x1000, 256), at(0x2000, 256)};
  alignas(8) static std::array<uint64_t, 3> variable;
  variable = {7, address(0x1040).address, 0};
  all.globals = {{"table", DevicePtr(reinterpret_cast<uint64_t>(variable.data())), Bytes(sizeof variable)}};
  point(0x1000, 0x2000);
  EXPECT_THAT(reached({}), ElementsAre(0x1000, 0x2000));
  EXPECT_EQ(kept.globals.size(), 1u);
}

TEST_F(ReachableMemoryTest, APlaceOutsideStandsForWhatIsNearOnBothSides) {
  const uint64_t second = 0x1000 + 256 + kReach / 2, third = second + 256 + 3 * kReach;
  all.allocations = {at(0x1000, 256), at(second, 256), at(third, 256)};
  EXPECT_THAT(reached(pointers({0x1100})), ElementsAre(0x1000)) << "one behind the last byte";
  EXPECT_THAT(reached(pointers({0x1101})), ElementsAre(0x1000, second));
  EXPECT_THAT(reached(pointers({second - 1})), ElementsAre(0x1000, second)) << "one before the begin";
  EXPECT_THAT(reached(pointers({0x1000 - 8})), ElementsAre(0x1000));
  EXPECT_THAT(reached(pointers({second + 256 + kReach - 1})), ElementsAre(second));
  EXPECT_THAT(reached(pointers({second + 256 + kReach})), IsEmpty());
  EXPECT_THAT(reached(pointers({third - kReach - 1})), IsEmpty());
  EXPECT_THAT(reached(pointers({third - kReach})), ElementsAre(third));
  EXPECT_THAT(reached(pointers({third + 256 + kReach - 1})), ElementsAre(third));
  EXPECT_THAT(reached(pointers({third + 256 + kReach})), IsEmpty());
  EXPECT_THAT(reached(pointers({second})), ElementsAre(second)) << "a place in one is that one's alone";
  EXPECT_THAT(reached(pointers({0x10ff})), ElementsAre(0x1000));
}

TEST_F(ReachableMemoryTest, PiecesThatTouchAreOne) {
  all.allocations = {at(0, 256), at(256, 256), at(1024, 256)};
  all.host = {at(512, 256)};
  EXPECT_THAT(reached(pointers({300})), ElementsAre(0, 256, 512));
  EXPECT_THAT(reached(pointers({700})), ElementsAre(0, 256, 512));
  EXPECT_THAT(reached(pointers({1024})), ElementsAre(1024));
}

TEST_F(ReachableMemoryTest, HostMemoryIsReachedAndFollowedAsTheDevicesIs) {
  all.allocations = {at(0, 256), at(0x1000, 256)};
  all.host = {at(0x40000, 3000), at(0x60003, 1000)};
  point(0x40000 + 2992, 0x1000);
  point(0x1008, 0x60010);
  point(0x60008, 8);
  EXPECT_THAT(reached(pointers({0x40000})), ElementsAre(0, 0x1000, 0x40000, 0x60003));
  EXPECT_THAT(reached(pointers({0})), ElementsAre(0));
  EXPECT_THAT(kept.host, IsEmpty());
}

TEST_F(ReachableMemoryTest, HostMemoryThatIsGoneIsKeptForItsCaptureToFind) {
  all.allocations = {at(0, 256)};
  all.host = {at(0x40000, 0x2000)};
  point(0x40000, 0);
  ::munmap(memory + 0x41000, 0x1000);
  EXPECT_THAT(reached(pointers({0x40000})), ElementsAre(0x40000));
}

TEST_F(ReachableMemoryTest, ALongChainOfLargeMemory) {
  for (uint64_t i = 0; i < 200; ++i) {
    all.allocations.push_back(at(i * 4096, 4000));
    if (i != 199) point(i * 4096 + i * 8, (i + 1) * 4096 + 17);
  }
  EXPECT_EQ(reached(pointers({0})).size(), 200u);
  EXPECT_EQ(reached(pointers({150 * 4096})).size(), 50u);
  EXPECT_EQ(kept.size(), Bytes(50 * 4000));
}

TEST_F(ReachableMemoryTest, WhatTheDeviceCannotDoIsAFailure) {
  all.allocations = {at(0, 256), at(1 << 18, 256)};
  device.set_failures(
      [](std::string_view call) { return call == "find_pointers" ? error(Code::device_fault, "the device is lost") : Status(); });
  ReachableMemory reachable(all);
  reachable.reach_from_parameters(pointers({0}));
  EXPECT_EQ(reachable.follow(*stream).code(), Code::device_fault);
}

TEST_F(ReachableMemoryTest, WhereEverythingIsReachedNothingIsRead) {
  unsigned reads = 0;
  device.set_failures([&](std::string_view call) {
    reads += call == "find_pointers";
    return Status();
  });
  all.allocations = {at(0, 256), at(1 << 18, 256), at(1 << 19, 256)};
  point(8, 1 << 18);
  EXPECT_EQ(reached(pointers({0, 1 << 18, 1 << 19})).size(), 3u);
  EXPECT_EQ(reads, 0u);
  EXPECT_EQ(reached(pointers({0, 1 << 19})).size(), 3u);
  EXPECT_EQ(reads, 1u) << "the third is found in the first";
  EXPECT_EQ(reached(pointers({1 << 19})).size(), 1u);
  EXPECT_EQ(reads, 2u) << "what is not reached might be, by what is";
}

}  // namespace
}  // namespace mneme
