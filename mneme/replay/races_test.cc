// Races, found in notes that nobody took.
#include "mneme/replay/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

using Words = std::array<uint32_t, kNoteWords>;

// Notes of one allocation, in the memory of the fake device, which are those of nobody at first.
class NotesTest : public testing::Test {
 protected:
  static constexpr uint64_t kSize = 600'000;  // bytes of memory: more than are looked at in one piece
  static constexpr uint64_t kBehind = 128;    // where the region lies in the plan's copy

  NotesTest() : stores_((kSize + kBehind) * 3) {
    PlannedRegion region;
    region.prologue = region.epilogue = {Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(kSize), "", {}};
    region.offset = kBehind;
    plan_.regions = {region};
    stream_ = std::move(device_.create_stream()).value();
  }
  // Of the byte at `offset` of the allocation.
  Words& stores(uint64_t offset) { return stores_[kBehind + offset]; }
  Words& loads(uint64_t offset) { return stores_[kSize + kBehind + kBehind + offset]; }

  std::optional<Race> find(uint64_t offset, uint64_t size, std::optional<ElementType> type) {
    const NotesOfLaunch notes{DevicePtr(reinterpret_cast<uint64_t>(stores_.data())),
                              Bytes((kSize + kBehind) * sizeof(Words)),
                              NoteOf::block,
                              {{8, 1, 1}, {1, 1, 1}}};
    auto race = find_race(*stream_, notes, plan_, {"argument 'out'", "out", 0, offset, Bytes(size), type});
    EXPECT_TRUE(race.ok()) << race.status().to_string();
    return race.ok() ? *race : std::nullopt;
  }

  std::vector<Words> stores_;  // then the loads, and the atomic operations
  MemoryPlan plan_;
  fake::FakeDevice device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(NotesTest, AnElementRacesOnceWhereverItLies) {
  for (uint64_t byte : {0, 1, 2, 3, 400'000, 400'003, 599'999}) stores(byte) = {1, 3};
  const auto race = find(0, kSize, ElementType::i32);
  ASSERT_TRUE(race.has_value());
  EXPECT_EQ(race->elements, kSize / 4);
  EXPECT_EQ(race->racing, 3u);
  EXPECT_EQ(race->first, 0u);
  EXPECT_EQ(race->what, "block [0,0,0] writes, and block [2,0,0] writes");
}

TEST_F(NotesTest, TheFirstRaceMayLieFarBehind) {
  for (uint64_t byte : {400'003, 500'000, 599'999}) stores(byte) = {1, 3};
  const auto race = find(0, kSize, ElementType::i32);
  ASSERT_TRUE(race.has_value());
  EXPECT_EQ(race->racing, 3u);
  EXPECT_EQ(race->first, 100'000u);
}

TEST_F(NotesTest, ARangeHasItsOwnNotes) {
  stores(4) = {1, 2};
  stores(500'000) = {2, 0};
  loads(500'000) = {2, 5};
  EXPECT_FALSE(find(8, 100, ElementType::i32).has_value());
  const auto race = find(400'000, 200'000, ElementType::f64);
  ASSERT_TRUE(race.has_value());
  EXPECT_EQ(race->racing, 1u);
  EXPECT_EQ(race->first, 12'500u);
  EXPECT_EQ(race->what, "block [1,0,0] writes, and block [4,0,0] reads");
  EXPECT_EQ(find(400'000, 200'000, std::nullopt)->first, 100'000u) << "bytes, where no type is known";
}

TEST_F(NotesTest, WhatOneDoesByItselfIsNoRace) {
  stores(0) = {3, 0};
  loads(0) = {3, 0};
  loads(1) = {1, 2};
  EXPECT_FALSE(find(0, 16, std::nullopt).has_value());
}

}  // namespace
}  // namespace mneme
