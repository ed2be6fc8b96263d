#include "mneme/record/pinned_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include "mneme/device/fake/fake_device.h"
#include "mneme/record/staging_memory.h"
#include "mneme/snapshot/recording_options.h"

namespace mneme {
namespace {

int64_t pinned(fake::FakeDevice& device) {
  const auto calls = device.calls();
  return std::count(calls.begin(), calls.end(), "allocate_pinned");
}

TEST(PinnedRing, PiecesArePinnedWhenTheyAreNeededAndUsedAgain) {
  fake::FakeDevice device;
  PinnedRing ring(device, 1_MiB);
  std::set<std::byte*> used;
  for (int i = 0; i < 100; ++i) used.insert(ring.take()->get());
  EXPECT_EQ(used.size(), 1u);
  EXPECT_EQ(pinned(device), 1);
  auto one = ring.take(), other = ring.take();
  std::fill_n(other->get(), ring.piece().count, std::byte{1});
  EXPECT_NE(*one, *other);
  EXPECT_EQ(pinned(device), 2);
  EXPECT_TRUE(ring.is_pinned());
}

// Each takes as long as a copy of twenty times as much.
TEST(PinnedRing, NoMoreArePinnedThanWaitingForOneIsWorth) {
  fake::FakeDevice device;
  device.set_failures([](std::string_view call) {
    if (call == "allocate_pinned") std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return Status();
  });
  PinnedRing ring(device, 1_MiB);
  std::vector<std::shared_ptr<std::byte[]>> taken;
  for (size_t i = 0; i < PinnedRing::kFirstPieces; ++i) taken.push_back(*ring.take());
  for (int i = 0; i < 100; ++i) {
    bool helped = false;  // and gives a piece back at once
    taken.push_back(*ring.take([&] { return !std::exchange(helped, true) && (taken.erase(taken.begin()), true); }));
  }
  EXPECT_EQ(pinned(device), static_cast<int64_t>(PinnedRing::kFirstPieces));
  // Nobody gives one back.
  taken.push_back(*ring.take());
  EXPECT_EQ(pinned(device), static_cast<int64_t>(PinnedRing::kFirstPieces + 1));
}

TEST(PinnedRing, WhoTakesWaitsWhereAllAreInUse) {
  fake::FakeDevice device;
  PinnedRing ring(device, 1_MiB);
  std::vector<std::shared_ptr<std::byte[]>> taken;
  for (size_t i = 0; i < PinnedRing::kPieces; ++i) taken.push_back(*ring.take());
  auto next = std::async(std::launch::async, [&] { return *ring.take(); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  std::byte* const free = taken[3].get();
  taken[3] = nullptr;
  EXPECT_EQ(next.get().get(), free);
  EXPECT_EQ(pinned(device), static_cast<int64_t>(PinnedRing::kPieces));
}

TEST(PinnedRing, WhatCannotBePinnedIsOrdinaryMemory) {
  fake::FakeDevice device;
  device.set_failures(
      [](std::string_view call) { return call == "allocate_pinned" ? error(Code::exhausted, "none") : Status(); });
  PinnedRing ring(device, 1_MiB);
  auto one = ring.take(), other = ring.take();
  ASSERT_TRUE(one.ok() && other.ok());
  std::fill_n(other->get(), ring.piece().count, std::byte{1});
  EXPECT_FALSE(ring.is_pinned());
  EXPECT_EQ(pinned(device), 1);
}

TEST(PinnedRing, FewerPiecesDoWhereNoMoreCanBePinned) {
  fake::FakeDevice device;
  PinnedRing ring(device, 1_MiB);
  auto one = *ring.take();
  device.set_failures(
      [](std::string_view call) { return call == "allocate_pinned" ? error(Code::exhausted, "none") : Status(); });
  auto next = std::async(std::launch::async, [&] { return *ring.take(); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  one = nullptr;
  EXPECT_NE(next.get(), nullptr);
  EXPECT_TRUE(ring.is_pinned());
}

// As where the program has pinned all that it may, and lets go of it later.
TEST(PinnedRing, WhatWasRefusedForAMomentIsPinnedLater) {
  constexpr auto kPause = std::chrono::milliseconds(1);
  fake::FakeDevice device;
  PinnedRing ring(device, 1_MiB, kPause);
  bool refuses = true;
  device.set_failures(
      [&](std::string_view call) { return refuses && call == "allocate_pinned" ? error(Code::exhausted, "none") : Status(); });
  auto ordinary = *ring.take();
  EXPECT_FALSE(ring.is_pinned());
  refuses = false;
  std::this_thread::sleep_for(kPause);
  auto other = *ring.take();
  EXPECT_FALSE(ring.is_pinned()) << "one is in use that is not";
  ordinary = other = nullptr;
  refuses = true;
  EXPECT_TRUE(ring.take().ok());
  EXPECT_FALSE(ring.is_pinned());
  refuses = false;
  std::this_thread::sleep_for(kPause);
  auto one = *ring.take();
  EXPECT_TRUE(ring.is_pinned());
  std::fill_n(one.get(), ring.piece().count, std::byte{1});
  // Likewise of one more piece.
  refuses = true;
  auto next = *ring.take([&] { return std::exchange(one, nullptr) != nullptr; });
  refuses = false;
  std::this_thread::sleep_for(kPause);
  const int64_t before = pinned(device);
  EXPECT_NE(*ring.take([] { return false; }), next);
  EXPECT_EQ(pinned(device), before + 1);
}

TEST(StagingMemory, IsNoMoreThanTheOptionAllows) {
  for (Bytes all : {kLeastStaging, 100_MiB, 1_GiB, 4_GiB, 64_GiB}) {
    const StagingMemory memory = StagingMemory::of(all);
    EXPECT_GE(memory.ring_piece, 1_MiB);
    EXPECT_LE(memory.ring_piece, 16_MiB);
    EXPECT_GE(memory.pages, 2_MiB) << all.count;
    EXPECT_GT(memory.queue.count, 0u);
    EXPECT_LE(Bytes(PinnedRing::kPieces * memory.ring_piece.count) + memory.pages + memory.queue, all);
  }
  EXPECT_EQ(StagingMemory::of(Bytes(0)).queue, Bytes(0));
  EXPECT_EQ(StagingMemory::of(Bytes(0)).pages, Bytes(0));
  EXPECT_GT(StagingMemory::of(std::nullopt).pages, 64_MiB);
}

}  // namespace
}  // namespace mneme
