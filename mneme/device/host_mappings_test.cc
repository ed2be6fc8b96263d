#include "mneme/device/host_mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

namespace mneme {
namespace {

constexpr size_t kPage = 4096;

// Three pages of which the middle one has these rights.
class Pages {
 public:
  explicit Pages(int middle) {
    memory_ = static_cast<std::byte*>(::mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + kPage, kPage, middle);
  }
  ~Pages() { ::munmap(memory_, 3 * kPage); }
  uint64_t at(size_t offset) const { return reinterpret_cast<uint64_t>(memory_) + offset; }

 private:
  std::byte* memory_ = nullptr;
};

TEST(HostMappings, DataIsWhatTheProcessMayReadAndNoCode) {
  const Pages none(PROT_NONE), readable(PROT_READ), writable(PROT_READ | PROT_WRITE), stack(PROT_READ | PROT_WRITE | PROT_EXEC),
      code(PROT_READ | PROT_EXEC);
  const HostMappings mappings = HostMappings::now();
  EXPECT_FALSE(mappings.is_data(none.at(kPage)));
  EXPECT_FALSE(mappings.is_data(code.at(kPage)));
  for (const Pages* data : {&readable, &writable, &stack}) {
    EXPECT_TRUE(mappings.is_data(data->at(kPage)));
    EXPECT_TRUE(mappings.is_data(data->at(2 * kPage - 1)));
    EXPECT_FALSE(mappings.is_data(data->at(kPage - 1)));
    EXPECT_FALSE(mappings.is_data(data->at(2 * kPage)));
    const auto all = mappings.data();
    EXPECT_EQ(std::ranges::count(all, MemoryRange{DevicePtr(data->at(kPage)), Bytes(kPage)}), 1);
    EXPECT_TRUE(std::ranges::is_sorted(all));
  }
  int on_stack = 0;
  static int variable = 0;
  EXPECT_TRUE(mappings.is_data(reinterpret_cast<uint64_t>(&on_stack)));
  EXPECT_TRUE(mappings.is_data(reinterpret_cast<uint64_t>(&variable)));
  EXPECT_FALSE(mappings.is_data(8));
  EXPECT_FALSE(HostMappings().is_data(reinterpret_cast<uint64_t>(&variable))) << "nothing is known";
}

// As the system tells it of a heap that another thread lets grow between two of its answers.
TEST(HostMappings, WhatGrowsWhileItIsReadOverlapsNothing) {
  char lines[] =
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7f0000000000-7f0000022000 rw-p 00000000 00:00 0 \n"
      "7f0000010000-7f0000020000 r--p 00000000 00:00 0 \n"
      "7f0000022000-7f0004000000 ---p 00000000 00:00 0 \n";
  std::FILE* file = ::fmemopen(lines, sizeof lines - 1, "r");
  ASSERT_NE(file, nullptr);
  const HostMappings mappings = HostMappings::read(file);
  std::fclose(file);
  EXPECT_EQ(mappings.data(), (std::vector{MemoryRange{DevicePtr(0x7f0000000000), Bytes(0x22000)}}));
  EXPECT_TRUE(mappings.is_writable(0x7f0000021fff));
  EXPECT_TRUE(mappings.holds(0x7f0000022000));
  EXPECT_FALSE(mappings.is_data(0x7f0000022000));
}

TEST(HostMappings, ThatAByteCanBeReadIsAskedWithoutAFault) {
  const Pages none(PROT_NONE), readable(PROT_READ);
  EXPECT_TRUE(may_be_readable(readable.at(kPage)));
  EXPECT_FALSE(may_be_readable(readable.at(2 * kPage)));
  EXPECT_FALSE(may_be_readable(none.at(kPage)));
  EXPECT_FALSE(may_be_readable(8));
}

}  // namespace
}  // namespace mneme
