#include "mneme/device/host_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "mneme/device/host_shared_memory.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr DevicePtr kPlace{0x7a4000000000};

std::byte* at(DevicePtr address) { return reinterpret_cast<std::byte*>(address.address); }

TEST(HostRange, IsThereUntilItIsGivenBack) {
  for (int i = 0; i < 2; ++i) {
    auto mapping = map_host_range(kPlace, Bytes(8192));
    ASSERT_TRUE(mapping.ok()) << mapping.status().to_string();
    EXPECT_EQ(*at(kPlace + Bytes(8191)), std::byte{0});
    *at(kPlace + Bytes(8191)) = std::byte{1};
  }
  EXPECT_EQ(mappings_in(kPlace, Bytes(8192)), "");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(reserve_host_range(kPlace, 4_MiB).ok());
  EXPECT_EQ(mappings_in(kPlace, 4_MiB), "");
}

TEST(HostRange, WhatIsAllocatedAgainReadsAsZero) {
  auto space = reserve_host_range(kPlace, 16_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  for (int i = 0; i < 2; ++i) {
    const auto memory = (*space)->allocate(12_MiB);
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    for (uint64_t mib = 0; mib < 12; ++mib) {
      EXPECT_EQ(*at(*memory + Bytes(mib << 20)), std::byte{0}) << mib;
      *at(*memory + Bytes(mib << 20)) = std::byte{7};
    }
    ASSERT_TRUE((*space)->free(*memory).ok());
  }
}

TEST(HostRange, OneThatIsTakenIsRefusedWithItsOwner) {
  const auto there = map_host_range(kPlace + Bytes(4096), Bytes(4096));
  ASSERT_TRUE(there.ok()) << there.status().to_string();
  const std::string owner = "taken in this process by 0x7a4000001000-0x7a4000002000 (anonymous)";
  for (const Status& refused : {map_host_range(kPlace, Bytes(8192)).status(), reserve_host_range(kPlace, 2_MiB).status()}) {
    EXPECT_EQ(refused.code(), Code::unavailable);
    EXPECT_THAT(refused.message(), HasSubstr(owner));
  }
  EXPECT_TRUE(map_host_range(kPlace, Bytes(4096)).ok()) << "beside it there is room";
}

TEST(HostRange, OneThatWrapsAroundIsRefused) {
  EXPECT_THAT(map_host_range(DevicePtr(~uint64_t{0} - 4095), Bytes(8192)).status().to_string(), StartsWith("invalid_argument: "));
  EXPECT_THAT(reserve_host_range(DevicePtr(~uint64_t{0} - (2 << 20) + 1), 4_MiB).status().to_string(),
              StartsWith("invalid_argument: "));
}

TEST(MappingsIn, NamesThreeAndCountsTheOthers) {
  std::vector<std::unique_ptr<HostMapping>> mappings;
  std::string named;
  for (uint64_t i = 0; i < 5; ++i) {
    const DevicePtr address = kPlace + Bytes(i * 8192);
    auto mapping = map_host_range(address, Bytes(4096));
    ASSERT_TRUE(mapping.ok()) << mapping.status().to_string();
    mappings.push_back(std::move(*mapping));
    if (i < 3) named += fmt::format("{}{}-{} (anonymous)", i == 0 ? "" : ", ", address, address + Bytes(4096));
  }
  EXPECT_EQ(mappings_in(kPlace, Bytes(3 * 8192)), named);
  EXPECT_EQ(mappings_in(kPlace, Bytes(5 * 8192)), named + " and 2 more");
  EXPECT_EQ(mappings_in(kPlace + Bytes(4096), Bytes(4096)), "") << "its neighbours do not lie in it";
}

TEST(HostAllocator, GivesBackWhatIsFreedAndWhatIsLeft) {
  DevicePtr freed, left;
  {
    HostAllocator allocator;
    freed = *allocator.allocate(64_MiB);
    left = *allocator.allocate(65_MiB);
    ASSERT_TRUE(allocator.free(freed).ok());
    EXPECT_EQ(allocator.free(freed).code(), Code::invalid_argument);
    EXPECT_EQ(mappings_in(freed, 64_MiB), "");
    EXPECT_NE(mappings_in(left, 65_MiB), "");
  }
  EXPECT_EQ(mappings_in(left, 65_MiB), "");
  HostAllocator allocator;
  EXPECT_EQ(allocator.allocate(Bytes(0)).status().code(), Code::invalid_argument);
  EXPECT_EQ(allocator.allocate(Bytes(~uint64_t{0})).status().code(), Code::exhausted);
}

TEST(HostSharedMemory, IsImportedForReadingAndGoesWithItsMapping) {
  auto memory = allocate_shared_host_memory(64_MiB);
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  *at((*memory)->address() + Bytes(5)) = std::byte{7};
  const auto descriptor = (*memory)->share();
  ASSERT_TRUE(descriptor.ok()) << descriptor.status().to_string();
  EXPECT_NE(::fcntl(descriptor->number(), F_GETFD) & FD_CLOEXEC, 0) << "no other program gets it";
  auto imported = import_shared_host_memory(*descriptor, 64_MiB);
  ASSERT_TRUE(imported.ok()) << imported.status().to_string();
  const DevicePtr place = (*imported)->address();
  EXPECT_EQ(*at(place + Bytes(5)), std::byte{7});
  EXPECT_EXIT(*at(place) = std::byte{1}, [](int status) { return status != 0; }, "");
  imported->reset();
  EXPECT_EQ(mappings_in(place, 64_MiB), "");
}

TEST(HostSharedMemory, ADescriptorOfOtherMemoryIsRefused) {
  auto memory = allocate_shared_host_memory(Bytes(4096));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const auto descriptor = (*memory)->share();
  ASSERT_TRUE(descriptor.ok()) << descriptor.status().to_string();
  EXPECT_TRUE(import_shared_host_memory(*descriptor, Bytes(4096)).ok());
  for (Bytes size : {Bytes(0), Bytes(4097)})
    EXPECT_EQ(import_shared_host_memory(*descriptor, size).status().code(), Code::invalid_argument) << size.count;
  EXPECT_EQ(import_shared_host_memory(Descriptor(), Bytes(4096)).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mneme
