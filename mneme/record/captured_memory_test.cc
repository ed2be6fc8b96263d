#include "mneme/record/captured_memory.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

Digest digest(int value) { return digest_of(std::as_bytes(std::span(&value, 1))); }

CapturedMemory::Region region(uint64_t address, uint64_t pages, std::vector<uint64_t> changed, int value) {
  CapturedMemory::Region all{
      Region::Kind::allocation, {DevicePtr(address), Bytes(pages * kPageSize.count)}, "", std::move(changed), {}};
  for (uint64_t page : all.pages) all.digests.push_back(digest(value + static_cast<int>(page)));
  return all;
}

constexpr uint64_t kHere = 1 << 20, kThere = 8 << 20;

TEST(CaptureHistory, GivesWhatThereWasOfWhatHasChanged) {
  CaptureHistory history;
  EXPECT_EQ(history.add({{region(kHere, 3, {0, 1, 2}, 0)}, {}}).regions.at(0).pages,
            (std::vector{digest(0), digest(1), digest(2)}));
  EXPECT_EQ(history.add({{region(kHere, 3, {1}, 10)}, {}}).regions.at(0).pages, (std::vector{digest(0), digest(11), digest(2)}));
  // A capture that does not see the region leaves it as it was.
  EXPECT_TRUE(history.add({{}, {}}).regions.empty());
  EXPECT_EQ(history.add({{region(kHere, 3, {}, 0)}, {}}).regions.at(0).pages, (std::vector{digest(0), digest(11), digest(2)}));
}

TEST(CaptureHistory, MemoryOfAnotherSizeIsOtherMemory) {
  CaptureHistory history;
  (void)history.add({{region(kHere, 3, {0, 1, 2}, 0)}, {}});
  EXPECT_EQ(history.add({{region(kHere, 2, {0, 1}, 20)}, {}}).regions.at(0).pages, (std::vector{digest(20), digest(21)}));
}

TEST(CaptureHistory, RegionsAreByAddressAndTwoNamesOfAVariableAreOne) {
  CapturedMemory captured{{region(kThere, 1, {0}, 5), region(kHere, 1, {0}, 6)}, {DevicePtr(kThere - 1)}};
  for (const char* name : {"b", "a"})
    captured.regions.push_back({Region::Kind::global, {DevicePtr(kHere + kPageSize.count), Bytes(4)}, name, {0}, {digest(9)}});
  const MemoryState outline = captured.outline(), state = CaptureHistory().add(captured);
  ASSERT_EQ(state.regions.size(), 3u);
  ASSERT_EQ(outline.regions.size(), 3u);
  EXPECT_EQ(outline.bytes(), state.bytes());
  EXPECT_EQ(state.regions[0].address, DevicePtr(kHere));
  EXPECT_EQ(state.regions[1].name, "a");
  EXPECT_EQ(state.regions[1].pages, std::vector{digest(9)});
  EXPECT_EQ(state.regions[2].address, DevicePtr(kThere));
  EXPECT_TRUE(outline.regions[2].pages.empty());
}

}  // namespace
}  // namespace mneme
