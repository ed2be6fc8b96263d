#include "mneme/record/reserved_addresses.h"

#include <gtest/gtest.h>

#include "mneme/device/address_space.h"

namespace mneme {
namespace {

DevicePtr at(uint64_t step) { return kReservationsBase + Bytes(step * kReservationStep.count); }
MemoryRange steps(uint64_t first, uint64_t count) { return {at(first), Bytes(count * kReservationStep.count)}; }

TEST(ReservedAddresses, ArePlacedInWholeStepsAndUsedAgain) {
  ReservedAddresses reserved;
  EXPECT_EQ(reserved.place(2_MiB, 0), steps(0, 1));
  EXPECT_EQ(reserved.place(kReservationStep + 2_MiB, (2_MiB).count), steps(1, 2));
  EXPECT_EQ(reserved.place(kReservationStep, 0), steps(3, 1));
  reserved.give_up(at(1));
  EXPECT_EQ(reserved.place(96_MiB, 0), steps(4, 3)) << "which is more than was given up";
  EXPECT_EQ(reserved.place(64_MiB, 0), steps(1, 2));
}

TEST(ReservedAddresses, AreAlignedAsWanted) {
  ReservedAddresses reserved;
  ASSERT_TRUE(reserved.place(2_MiB, 0));
  EXPECT_EQ(reserved.place(2_MiB, (1_GiB).count), steps(32, 1));
  EXPECT_EQ(reserved.place(2_MiB, 3), std::nullopt) << "which the driver refuses";
}

TEST(ReservedAddresses, WhatTheDriverHasPutElsewhereLeavesItsPlace) {
  ReservedAddresses reserved;
  const auto place = *reserved.place(2_MiB, 0);
  reserved.settle(place, DevicePtr(0x500000000000));
  EXPECT_EQ(reserved.place(2_MiB, 0), place);
  reserved.settle(place, place.address);
  EXPECT_EQ(reserved.size_at(DevicePtr(0x500000000000), 2_MiB), kReservationStep);
  EXPECT_EQ(reserved.size_at(place.address, 2_MiB), kReservationStep);
  EXPECT_EQ(reserved.size_at(place.address, 4_MiB), std::nullopt) << "the program reserved no such range";
  EXPECT_EQ(reserved.size_at(place.address + 2_MiB, 2_MiB), std::nullopt);
  reserved.settle(place, DevicePtr(0x7b0002000000));
  EXPECT_EQ(reserved.place(64_MiB, 0), steps(2, 2)) << "one has come to lie between";
}

TEST(ReservedAddresses, BeyondTheRangeTheDriverChooses) {
  ReservedAddresses reserved;
  const Bytes all = kHostMemoryBase - kReservationsBase;
  EXPECT_EQ(reserved.place(all + Bytes(1), 0), std::nullopt);
  EXPECT_EQ(reserved.place(Bytes(0), 0), std::nullopt);
  ASSERT_TRUE(reserved.place(all - 64_MiB, 0));
  EXPECT_EQ(reserved.place(65_MiB, 0), std::nullopt);
  EXPECT_TRUE(reserved.place(64_MiB, 0));
  EXPECT_EQ(reserved.place(2_MiB, 0), std::nullopt);
}

}  // namespace
}  // namespace mneme
