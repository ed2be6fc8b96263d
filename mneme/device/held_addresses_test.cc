#include "mneme/device/held_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <optional>
#include <thread>

#include "mneme/device/host_memory.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;

constexpr DevicePtr kPlace{0x7a8000000000};
constexpr Bytes kBlock = 32_MiB;
const MemoryRange kRange{kPlace, kBlock};

// What a driver does that has a use for this place.
class Taken {
 public:
  Taken(DevicePtr place, Bytes size)
      : size_(size.count),
        got_(::mmap(reinterpret_cast<void*>(place.address), size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Taken() { ::munmap(got_, size_); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  DevicePtr address() const { return DevicePtr(reinterpret_cast<uint64_t>(got_)); }

 private:
  uint64_t size_;
  void* got_;
};

MemoryRange around(MemoryRange range, Bytes distance) {
  return {DevicePtr(range.address.address - distance.count), range.size + distance + distance};
}
bool is_free(MemoryRange range) { return mappings_in(range.address, range.size).empty(); }
bool can_be_had(MemoryRange range) { return reserve_host_range(range.address, range.size).ok(); }

TEST(HeldAddresses, NothingIsPlacedWhereAddressesAreHeld) {
  ASSERT_EQ(Taken(kPlace, 1_GiB).address(), kPlace) << "the system has room there";
  {
    const HeldAddresses held({kRange});
    EXPECT_NE(Taken(kPlace, 1_GiB).address(), kPlace);
    EXPECT_NE(Taken(kPlace + 31_MiB, 1_MiB).address(), kPlace + 31_MiB);
    EXPECT_EQ(Taken(kRange.end(), 1_MiB).address(), kRange.end()) << "behind it there is room";
  }
  EXPECT_TRUE(is_free(kRange));
}

// The system places what it is free to place from above, in the first gap that is large enough.
TEST(HeldAddresses, WhereTheSystemWouldPlaceAMappingItPlacesNoneWhileThatIsHeld) {
  DevicePtr next;
  {
    next = Taken(DevicePtr(), 8_GiB).address();
  }
  const HeldAddresses held({{next + 4_GiB, kBlock}});
  const Taken large(DevicePtr(), 8_GiB);
  EXPECT_FALSE((MemoryRange{large.address(), 8_GiB}.overlaps({next + 4_GiB, kBlock})));
  const AddressLoan loan({next + 4_GiB, kBlock});
  EXPECT_TRUE(can_be_had({next + 4_GiB, kHostGranularity}));
}

TEST(HeldAddresses, WhatIsLentCanBeReservedAndIsHeldAgainAfterwards) {
  const HeldAddresses held({kRange});
  EXPECT_FALSE(can_be_had(kRange));
  {
    const AddressLoan loan({kPlace + 4_MiB, 8_MiB});
    EXPECT_TRUE(can_be_had({kPlace + 4_MiB, 8_MiB}));
    for (const MemoryRange& other : {MemoryRange{kPlace, 4_MiB}, MemoryRange{kPlace + 12_MiB, 20_MiB}})
      EXPECT_FALSE(can_be_had(other)) << "what is not lent is still held";
    const AddressLoan again({kPlace + 4_MiB, 8_MiB});
    {
      const AddressLoan third(kRange);
    }
    EXPECT_TRUE(can_be_had({kPlace + 4_MiB, 8_MiB})) << "the end of one loan ends no other";
  }
  EXPECT_FALSE(can_be_had({kPlace + 4_MiB, 8_MiB}));
}

TEST(HeldAddresses, WhatIsLentIsNotHeldByOthersEither) {
  std::optional<HeldAddresses> first(std::in_place, std::vector{kRange});
  std::optional<AddressLoan> loan(std::in_place, kRange);
  const HeldAddresses second({kRange});
  EXPECT_TRUE(can_be_had(kRange));
  first.reset();
  loan.reset();
  EXPECT_FALSE(can_be_had(kRange)) << "the second still wants it";
}

TEST(HeldAddresses, ALoanOutlivesWhoHeld) {
  std::optional<HeldAddresses> held(std::in_place, std::vector{kRange});
  AddressLoan loan(kRange);
  const auto space = reserve_host_range(kPlace, kBlock);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  held.reset();
  EXPECT_FALSE(is_free(kRange)) << "the reservation is the borrower's";
  const AddressLoan moved(std::move(loan));
  EXPECT_FALSE(is_free(kRange));
}

TEST(HeldAddresses, WhatIsTakenAlreadyIsLeftAndKeepsNothingElseFromBeingHeld) {
  const MemoryRange other{kPlace + 1_GiB, kBlock};
  std::optional<Taken> taken(std::in_place, kPlace + 8_MiB, 2_MiB);
  HeldAddresses held({kRange, other, {kPlace + 2_GiB, Bytes()}, {DevicePtr(~uint64_t{0} - 8191), Bytes(4096)}});
  EXPECT_FALSE(can_be_had(other));
  EXPECT_THAT(reserve_host_range(kPlace, kBlock).status().message(), HasSubstr("0x7a8000800000-0x7a8000a00000"));
  EXPECT_TRUE(can_be_had({kPlace, 8_MiB}));
  taken.reset();
  {
    const AddressLoan loan(kRange);
  }
  EXPECT_FALSE(can_be_had(kRange)) << "once there is room, the next loan ends in its being held";
  held = HeldAddresses();
  EXPECT_TRUE(is_free(kRange) && is_free(other));
}

TEST(HeldAddresses, RangesOfSeveralHoldersMayOverlap) {
  std::optional<HeldAddresses> first(std::in_place, std::vector{kRange, MemoryRange{kPlace + 16_MiB, kBlock}});
  HeldAddresses second({{kPlace + 8_MiB, 8_MiB}});
  HeldAddresses moved(std::move(second));
  first.reset();
  EXPECT_FALSE(can_be_had({kPlace + 8_MiB, 8_MiB}));
  EXPECT_TRUE(can_be_had({kPlace, 8_MiB}) && can_be_had({kPlace + 16_MiB, kBlock}));
  moved.release();
  moved.release();
  EXPECT_TRUE(is_free(kRange));
}

TEST(HeldAddresses, WhileADriverStartsNothingIsMappedThereNorPlacedThere) {
  DevicePtr next;
  {
    next = Taken(DevicePtr(), 8_GiB).address();
  }
  const MemoryRange range{next + 4_GiB, kBlock};
  const HeldAddresses held({range});
  std::optional<HeldAddresses> meanwhile;
  {
    const DriverStart start;
    meanwhile.emplace(std::vector{kRange});
    EXPECT_TRUE(is_free(range) && is_free(kRange));
    EXPECT_TRUE(is_free(around(range, 1_GiB)));
    const Taken large(DevicePtr(), 8_GiB);
    EXPECT_FALSE((MemoryRange{large.address(), 8_GiB}.overlaps(range)));
    {
      const DriverStart another;
    }
    EXPECT_TRUE(is_free(range)) << "the first has not ended";
  }
  EXPECT_FALSE(can_be_had(range));
  EXPECT_FALSE(can_be_had(kRange));
  const AddressLoan loan(range);
  EXPECT_TRUE(is_free(around(range, 2_GiB))) << "no page is left beside it";
}

TEST(HeldAddresses, WhatADriverThatStartsPlacesThereIsLeft) {
  const HeldAddresses held({kRange});
  std::optional<DriverStart> start(std::in_place);
  const Taken taken(kPlace + 8_MiB, 2_MiB);
  ASSERT_EQ(taken.address(), kPlace + 8_MiB);
  start.reset();
  EXPECT_THAT(reserve_host_range(kPlace, kBlock).status().message(), HasSubstr("0x7a8000800000-0x7a8000a00000"));
}

TEST(HeldAddresses, ThreadsHoldAndBorrowAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const MemoryRange own{kPlace + Bytes(t * kBlock.count), kBlock};
      for (int i = 0; i < 200; ++i) {
        const HeldAddresses held({own, {kPlace, Bytes(4 * kBlock.count)}});
        const AddressLoan loan(own);
        EXPECT_TRUE(can_be_had(own));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_free({kPlace, Bytes(4 * kBlock.count)}));
}

}  // namespace
}  // namespace mneme
