// What a run has left next to what was recorded: in pieces, from any place of a region on.
#include "mneme/memory/run_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/memory/testing/on_fake_device.h"

namespace mneme {
namespace {

using testing_memory::kData;
using testing_memory::kOther;

class RunMemoryTest : public testing_memory::PreparedOnFakeDevice {
 protected:
  RunMemory observed(StartState start = StartState::recorded) {
    auto memory = memory_->observe({}, start);
    EXPECT_TRUE(memory.ok()) << memory.status().to_string();
    return std::move(memory).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RunMemoryTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(RunMemoryTest, DifferencesOfAllPiecesAreCountedAndTheFirstIsNamed) {
  restored(*memory_);
  run_kernel();
  const RunMemory run = observed();
  EXPECT_EQ(run.compare_bytes(0, 0, Bytes(before_.size()))->differing_bytes, 0u);
  EXPECT_EQ(run.compare_bytes(0, kPageSize.count + 3, Bytes(10))->differing_bytes, 0u) << "within what the kernel changes";
  EXPECT_EQ(run.compare_bytes(0, 3, Bytes(10))->differing_bytes, 0u);
  const uint64_t first = 2 * kPageSize.count + 9, second = 3 * kPageSize.count + 1;
  for (uint64_t place : {first, second}) *at(kData + Bytes(place)) ^= std::byte{0xff};
  const Comparison both = *run.compare_bytes(0, 7, Bytes(before_.size() - 7));
  EXPECT_EQ(both.differing_bytes, 2u);
  EXPECT_EQ(both.first_difference, first - 7);
}

TEST_P(RunMemoryTest, ADigestIsOfThePlaceThatIsAskedFor) {
  restored(*memory_);
  run_kernel();
  const RunMemory run = observed();
  const auto digest = [&](uint64_t page) { return *run.digest(0, page * kPageSize.count, kPageSize); };
  const Digest first = digest(0), third = digest(2);
  EXPECT_NE(first, third);
  *at(kData + Bytes(2 * kPageSize.count)) ^= std::byte{0xff};
  EXPECT_EQ(digest(0), first);
  EXPECT_NE(digest(2), third);
}

// What is brought from the database for one comparison is no part of the next one.
TEST_P(RunMemoryTest, RangesOfAnySizeAreComparedOneAfterTheOther) {
  restored(*memory_);
  run_kernel();
  const RunMemory run = observed();
  const ElementComparison bytes{.type = ElementType::u8};
  for (int i = 0; i < 2; ++i) {
    for (uint64_t size : {uint64_t{16}, kPageSize.count + 16, 4 * kPageSize.count + 16, uint64_t{16}}) {
      EXPECT_EQ(run.compare_bytes(0, 8, Bytes(size))->differing_bytes, 0u) << size;
      auto elements = run.compare_elements(0, kPageSize.count - 8, Bytes(size), bytes);
      ASSERT_TRUE(elements.ok()) << elements.status().to_string();
      EXPECT_EQ(elements->failing, 0u) << size;
      elements = run.compare_elements(0, 2 * kPageSize.count - 8, Bytes(size), bytes);  // out of what the kernel changes
      ASSERT_TRUE(elements.ok()) << elements.status().to_string();
      EXPECT_EQ(elements->failing, 0u) << size;
    }
    const MappedSpan& span = plan_.spans.front();
    const uint64_t other = (kOther - span.address).count;
    EXPECT_EQ(run.compare_span(span, other, other + kPageSize.count)->differing_bytes, 0u) << "with the slack behind it";
  }
}

TEST_P(RunMemoryTest, WhatARunStartedFromIsReadFromAnyPlaceOn) {
  restored(*memory_);
  const uint64_t place = 2 * kPageSize.count + 77;
  *at(kData + Bytes(place)) ^= std::byte{0xff};
  ASSERT_TRUE(memory_->keep_masked({{kData + Bytes(2 * kPageSize.count), kPageSize}}, Bytes(1)).ok());
  restored(*memory_, StartState::masked);
  run_kernel();
  const RunMemory run = observed(StartState::masked);
  for (uint64_t offset : {place, place - 5, place - kPageSize.count}) {
    ByteVector started;
    const auto see = [&](const MemoryPiece& piece) {
      started.assign(piece.started.begin(), piece.started.end());
      return Status();
    };
    ASSERT_TRUE(run.read(0, offset, Bytes(kPageSize.count + 16), see).ok());
    ASSERT_EQ(started.size(), kPageSize.count + 16);
    EXPECT_EQ(started[place - offset], ~before_[place]) << offset;
    EXPECT_EQ(started[place - offset + 1], before_[place + 1]) << offset;
  }
  const auto see = [&](const MemoryPiece& piece) {
    EXPECT_TRUE(piece.started.empty()) << "it did not start masked";
    return Status();
  };
  EXPECT_TRUE(observed(StartState::recorded).read(0, place, Bytes(16), see).ok());
}

// More than is copied to the host, or brought from the database, at a time.
class LargeRunMemoryTest : public RunMemoryTest {
 protected:
  static constexpr Bytes kLarge = 70_MiB;

  void SetUp() override {
    OnFakeDevice::SetUp();
    page_.resize(kPageSize.count);
    for (size_t i = 0; i < page_.size(); ++i) page_[i] = std::byte(i * 5 + i / 300);
    testing_store::MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none, with much memory";
    made.pointer("data", kData);
    testing_store::MadeRegion region{Region::Kind::allocation, kData, "", {}, {}};
    region.size = kLarge;
    region.page = page_;
    region.changed_page = ByteVector(kPageSize.count, std::byte{1});
    region.changed_index = 1;
    made.regions = {region};
    publish(made);
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    memory_ = std::move(*memory);
  }

  ByteVector page_;
};

INSTANTIATE_TEST_SUITE_P(Devices, LargeRunMemoryTest, testing::Values(1_GiB, 100_MiB),
                         [](const auto& info) { return info.param == 100_MiB ? "Small" : "Large"; });

TEST_P(LargeRunMemoryTest, EveryPageIsReadOnceAndInItsPlace) {
  restored(*memory_);
  for (uint64_t at_page = 0; at_page < kLarge.count; at_page += kPageSize.count)
    ASSERT_EQ(std::memcmp(at(kData + Bytes(at_page)), page_.data(), page_.size()), 0) << at_page;
  std::fill_n(at(kData + kPageSize), kPageSize.count, std::byte{1});
  const RunMemory run = observed();
  EXPECT_EQ(run.compare_bytes(0, 0, kLarge)->differing_bytes, 0u);
  *at(kData + Bytes(kLarge.count - 3)) ^= std::byte{0xff};
  EXPECT_EQ(run.compare_bytes(0, 0, kLarge)->first_difference, kLarge.count - 3);
  uint64_t next = 8, differing = 0, pieces = 0;
  const auto see = [&](const MemoryPiece& piece) {
    EXPECT_EQ(piece.offset, next);
    ++pieces;
    next += piece.actual.size();
    differing += std::memcmp(piece.actual.data(), piece.recorded.data(), piece.actual.size()) != 0;
    EXPECT_EQ(std::memcmp(piece.actual.data(), at(kData + Bytes(piece.offset)), piece.actual.size()), 0);
    return Status();
  };
  EXPECT_TRUE(run.read(0, 8, Bytes(kLarge.count - 8), see).ok());
  EXPECT_EQ(next, kLarge.count);
  EXPECT_GT(pieces, 1u);
  EXPECT_EQ(differing, 1u) << "the last one";
}

}  // namespace
}  // namespace mneme
