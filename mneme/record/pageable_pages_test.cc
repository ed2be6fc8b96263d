#include "mneme/record/pageable_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "mneme/device/fake/fake_device.h"
#include "mneme/record/pageable_memory.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme {
namespace {

// Memory of the fake device, which is the process's own. Places are offsets in it.
class PageablePagesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kPage = kPageSize.count, kSize = 8 * kPage;

  ~PageablePagesTest() override { ::munmap(memory_, kSize); }
  MemoryRange at(uint64_t place, uint64_t size) const {
    return {DevicePtr(reinterpret_cast<uint64_t>(memory_) + place), Bytes(size)};
  }
  void point(uint64_t from, uint64_t to) { std::memcpy(memory_ + from, &to, sizeof to); }
  CapturedMemory::Region region(Region::Kind kind, uint64_t page, uint64_t pages, std::vector<uint64_t> changed) const {
    return {kind, at(page * kPage, pages * kPage), "", std::move(changed)};
  }
  // After a capture that has found this.
  bool finds(const CapturedMemory& captured) {
    pages_.add(captured);
    const auto found = pages_.find_in(captured, pageable_, *stream_, vendor_);
    EXPECT_TRUE(found.ok());
    return found.ok() && *found;
  }

  std::byte* memory_ = static_cast<std::byte*>(
      ::mmap(reinterpret_cast<void*>(0x20000000000), kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const std::vector<MemoryRange> pageable_ = {{DevicePtr(0x5000), Bytes(0x1000)}, {DevicePtr(0x9000), Bytes(0x1000)}};
  fake::FakeDevice device_;
  std::unique_ptr<Stream> stream_ = *device_.create_stream();
  Table vendor_;
  PageablePages pages_;
};

TEST_F(PageablePagesTest, WhatHasChangedIsReadAndWhatHasNotIsRemembered) {
  for (const Region::Kind kind : {Region::Kind::allocation, Region::Kind::host}) {
    point(kPage, 0x5008);
    EXPECT_TRUE(finds({{region(kind, 0, 4, {0, 1, 2, 3})}, {}}));
    EXPECT_TRUE(finds({{region(kind, 0, 4, {})}, {}})) << "as it was";
    point(kPage, 0x6000);
    EXPECT_TRUE(finds({{region(kind, 0, 4, {})}, {}})) << "no capture has found a change";
    EXPECT_FALSE(finds({{region(kind, 0, 4, {1})}, {}}));
    point(3 * kPage + 8, 0x9ff8);
    EXPECT_FALSE(finds({{region(kind, 0, 4, {2})}, {}})) << "another page has changed";
    pages_.add({{region(kind, 0, 4, {3})}, {}});
    EXPECT_TRUE(finds({{region(kind, 0, 4, {})}, {}})) << "what an earlier capture has found";
    EXPECT_TRUE(finds({{region(kind, 0, 4, {0})}, {}})) << "it is there still";
    point(3 * kPage + 8, 0);
    EXPECT_FALSE(finds({{region(kind, 0, 4, {0, 1, 2, 3})}, {}}));
  }
}

TEST_F(PageablePagesTest, OnlyWhatIsAskedForCounts) {
  point(5 * kPage, 0x5000);
  const auto without = region(Region::Kind::allocation, 0, 2, {0, 1}), with = region(Region::Kind::allocation, 4, 2, {0, 1});
  EXPECT_FALSE(finds({{without}, {}}));
  EXPECT_TRUE(finds({{without, with}, {}}));
  EXPECT_FALSE(finds({{region(Region::Kind::allocation, 0, 2, {})}, {}}));
  EXPECT_TRUE(finds({{region(Region::Kind::allocation, 0, 2, {}), region(Region::Kind::allocation, 4, 2, {})}, {}}));
  // Where it was freed there is other memory.
  EXPECT_FALSE(finds({{region(Region::Kind::allocation, 4, 1, {0})}, {at(4 * kPage, 0).address}}));
}

TEST_F(PageablePagesTest, VariablesAreReadEachTime) {
  CapturedMemory captured{{{Region::Kind::global, at(4, 28), "table", {0}}}, {}};
  EXPECT_FALSE(finds(captured));
  point(8, 0x5000);
  EXPECT_TRUE(finds(captured));
  point(8, 0);
  point(28, 0x5000);  // not whole in it
  EXPECT_FALSE(finds(captured));
}

// Of the host's data what is captured does not count, nor what is close to it.
TEST(PageableMemory, IsTheHostsDataWithoutWhatIsCaptured) {
  constexpr uint64_t kReach = 64 << 10, kMapped = 8 * kReach;
  void* const wanted = reinterpret_cast<void*>(0x21000000000);
  auto* const memory = ::mmap(wanted, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const DevicePtr begin(reinterpret_cast<uint64_t>(memory));
  PageableMemory pageable(kDefaultAddressSpaceBase);
  const auto left = [&](std::vector<MemoryRange> host) {
    StateCapture::Memory known;
    known.host = std::move(host);
    std::vector<std::pair<uint64_t, uint64_t>> left;
    for (const MemoryRange& range : pageable.without(known))
      if (range.address >= begin && range.end() <= begin + Bytes(kMapped))
        left.emplace_back((range.address - begin).count / kReach, (range.end() - begin).count / kReach);
    return left;
  };
  using Left = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(left({}), (Left{{0, 8}}));
  EXPECT_EQ(left({{begin + Bytes(3 * kReach), Bytes(kReach)}}), (Left{{0, 2}, {5, 8}}));
  EXPECT_EQ(left({{begin, Bytes(kReach)}, {begin + Bytes(4 * kReach), Bytes(kReach)}}), (Left{{2, 3}, {6, 8}}));
  EXPECT_EQ(left({{begin, Bytes(kMapped)}}), Left());
  EXPECT_EQ(left({{begin + Bytes(7 * kReach), Bytes(kReach)}, {begin, Bytes(2 * kReach)}}), (Left{{3, 6}})) << "in any order";
  ::munmap(memory, kMapped);
}

}  // namespace
}  // namespace mneme
