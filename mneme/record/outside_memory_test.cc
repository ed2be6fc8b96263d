#include "mneme/record/outside_memory.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

constexpr Bytes kPiece = 2_MiB;

MemoryRange piece(uint64_t number, uint64_t count = 1) {
  return {DevicePtr(0x7b0000000000) + Bytes(number * kPiece.count), Bytes(count * kPiece.count)};
}
using Ranges = std::vector<MemoryRange>;

// Maps memory of a handle of its own, on device 0, for that device.
void map(OutsideMemory& memory, uint64_t number) {
  memory.create(100 + number, 0);
  memory.map(piece(number), 100 + number);
  memory.release(100 + number);
  memory.set_access(piece(number), 0, true);
}

TEST(OutsideMemory, NeighboursAreOneRange) {
  OutsideMemory memory;
  for (uint64_t number : {5, 1, 2, 0}) map(memory, number);
  EXPECT_EQ(memory.mapped(0), (Ranges{piece(0, 3), piece(5)}));
  EXPECT_EQ(memory.bytes(0), Bytes(4 * kPiece.count));
  EXPECT_EQ(memory.find_around(piece(2).address + Bytes(7), 0), piece(0, 3));
  EXPECT_EQ(memory.find_around(piece(3).address, 0), std::nullopt);
  EXPECT_EQ(memory.refusal(piece(1).address, 0), std::nullopt);
  EXPECT_EQ(memory.refusal(piece(3).address, 0), std::nullopt) << "nothing is there, which is no reason";
}

// What the driver has allocated ends where it likes.
TEST(OutsideMemory, AllocationsAreThereUntilTheyAreFreed) {
  OutsideMemory memory;
  const MemoryRange one{DevicePtr(0x7f0000000200), Bytes(1000)}, two{DevicePtr(0x7f0000000600), Bytes(24)},
      other{DevicePtr(0x7f0000000800), Bytes(8)};
  memory.add_allocation(one, 0);
  memory.add_allocation(two, 0);
  memory.add_allocation(other, 1);
  map(memory, 0);
  EXPECT_EQ(memory.mapped(0), (Ranges{piece(0), one, two}));
  EXPECT_EQ(memory.bytes(0), kPiece + Bytes(1024));
  EXPECT_EQ(memory.managed(), Ranges());
  EXPECT_TRUE(memory.is_allocation(one.address));
  EXPECT_EQ(memory.refusal(other.address, 0), NotRecorded::other_device_memory);
  EXPECT_EQ(memory.refusal(one.address, 0), std::nullopt);
  EXPECT_EQ(memory.remove_allocation(one.address + Bytes(8)), std::nullopt);
  EXPECT_EQ(memory.remove_allocation(one.address), one);
  EXPECT_EQ(memory.remove_allocation(one.address), std::nullopt);
  EXPECT_EQ(memory.mapped(0), (Ranges{piece(0), two}));
  EXPECT_EQ(memory.remove_allocations_of(0), Ranges{two});
  EXPECT_EQ(memory.mapped(0), Ranges{piece(0)});
  EXPECT_EQ(memory.mapped(1), Ranges{other});
  memory.clear();
  EXPECT_EQ(memory.mapped(1), Ranges());
  EXPECT_FALSE(memory.is_allocation(other.address));
}

TEST(OutsideMemory, AnyPartCanBeUnmapped) {
  OutsideMemory memory;
  for (uint64_t number : {0, 1, 2, 3}) map(memory, number);
  memory.unmap(piece(1, 2));
  EXPECT_EQ(memory.mapped(0), (Ranges{piece(0), piece(3)}));
  memory.unmap({piece(0).address + 1_MiB, 1_MiB});
  EXPECT_EQ(memory.mapped(0), (Ranges{{piece(0).address, 1_MiB}, piece(3)}));
  memory.unmap(piece(0, 10));
  EXPECT_EQ(memory.mapped(0), Ranges());
  memory.unmap(piece(0, 10));
}

TEST(OutsideMemory, OnlyWhatTheDeviceMayReachIsCaptured) {
  OutsideMemory memory;
  memory.create(1, 0);
  memory.map(piece(0, 2), 1);
  EXPECT_EQ(memory.mapped(0), Ranges());
  EXPECT_EQ(memory.refusal(piece(0).address, 0), NotRecorded::mapped_memory);
  memory.set_access(piece(0), 0, true);
  EXPECT_EQ(memory.mapped(0), Ranges{piece(0)});
  memory.set_access(piece(0, 2), 0, true);
  EXPECT_EQ(memory.mapped(0), (Ranges{piece(0, 2)}));
  memory.set_access(piece(1), 0, false);
  EXPECT_EQ(memory.mapped(0), Ranges{piece(0)});
  memory.set_access(piece(0), 1, true);
  EXPECT_EQ(memory.mapped(1), Ranges()) << "it is another device's";
  EXPECT_EQ(memory.refusal(piece(0).address, 1), NotRecorded::other_device_memory);
}

TEST(OutsideMemory, WhatIsMappedTwiceIsRefused) {
  OutsideMemory memory;
  memory.create(1, 0);
  memory.map(piece(0), 1);
  memory.set_access(piece(0), 0, true);
  EXPECT_EQ(memory.refusal(piece(0).address, 0), std::nullopt);
  memory.retain(2, piece(0).address);
  memory.release(1);
  memory.map(piece(5), 2);
  memory.set_access(piece(5), 0, true);
  for (uint64_t number : {0, 5}) EXPECT_EQ(memory.refusal(piece(number).address, 0), NotRecorded::mapped_memory) << number;
  EXPECT_EQ(memory.mapped(0), Ranges());
}

TEST(OutsideMemory, WhatIsMappedAgainIsNotMappedTwice) {
  OutsideMemory memory;
  memory.create(1, 0);
  for (uint64_t number : {0, 5}) {
    memory.map(piece(number), 1);
    memory.set_access(piece(number), 0, true);
    EXPECT_EQ(memory.mapped(0), Ranges{piece(number)});
    memory.unmap(piece(number));
  }
}

TEST(OutsideMemory, WhereAHandleComesFromDecides) {
  OutsideMemory memory;
  memory.create_refused(1, NotRecorded::external_memory);
  memory.create(2, 0);
  memory.refuse(2, NotRecorded::mapped_memory);
  memory.create(3, 0);
  memory.create(3, 0);  // the driver has used the number again
  memory.create(4, 0);
  memory.retain(4, piece(9).address);  // of nothing
  memory.release(4);
  for (uint64_t handle : {1, 2, 3, 4}) {
    memory.map(piece(handle), handle);
    memory.set_access(piece(handle), 0, true);
  }
  EXPECT_EQ(memory.refusal(piece(1).address, 0), NotRecorded::external_memory);
  EXPECT_EQ(memory.refusal(piece(2).address, 0), NotRecorded::mapped_memory);
  EXPECT_EQ(memory.refusal(piece(3).address, 0), std::nullopt);
  EXPECT_EQ(memory.refusal(piece(4).address, 0), NotRecorded::mapped_memory) << "nobody has said what it is";
}

TEST(OutsideMemory, WhatIsMappedCanBeRefused) {
  OutsideMemory memory;
  for (uint64_t number : {0, 1, 2}) map(memory, number);
  memory.refuse_mapped(piece(1, 5), NotRecorded::mapped_memory);
  EXPECT_EQ(memory.mapped(0), Ranges{piece(0)});
  EXPECT_EQ(memory.refusal(piece(2).address, 0), NotRecorded::mapped_memory);
}

TEST(OutsideMemory, ManagedMemoryIsEveryDevices) {
  OutsideMemory memory;
  const MemoryRange one{DevicePtr(0x7f0000000000), Bytes(100)}, two{DevicePtr(0x7f0000000200), Bytes(300)};
  memory.add_managed(two, 0);
  memory.add_managed(one, 0);
  EXPECT_EQ(memory.managed(), (Ranges{one, two}));
  EXPECT_EQ(memory.bytes(1), Bytes(400));
  EXPECT_TRUE(memory.is_allocation(two.address));
  EXPECT_FALSE(memory.is_allocation(two.address + Bytes(8)));
  EXPECT_EQ(memory.find_around(two.address + Bytes(8), 1), two);
  EXPECT_EQ(memory.remove_allocation(two.address), two);
  EXPECT_EQ(memory.remove_allocation(two.address), std::nullopt);
  memory.clear();
  EXPECT_EQ(memory.managed(), Ranges());
}

TEST(OutsideMemory, ManagedMemoryGoesWithTheDeviceThatItWasAllocatedOn) {
  OutsideMemory memory;
  const MemoryRange one{DevicePtr(0x7f0000000000), Bytes(100)}, two{DevicePtr(0x7f0000000200), Bytes(300)};
  memory.add_managed(one, 0);
  memory.add_managed(two, 1);
  EXPECT_EQ(memory.remove_allocations_of(1), Ranges{two});
  EXPECT_EQ(memory.managed(), Ranges{one});
  EXPECT_EQ(memory.remove_allocations_of(1), Ranges());
}

}  // namespace
}  // namespace mneme
