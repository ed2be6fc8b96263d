#include "mneme/verify/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mneme/memory/testing/on_fake_device.h"
#include "mneme/verify/mask_left.h"
#include "mneme/verify/tolerance_proposal.h"
#include "mneme/verify/verification.h"

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing_store::bytes_of;

// Memory that is one global of the module, which a test fills.
class GlobalTest : public testing_memory::OnFakeDevice {
 protected:
  void SetUp() override {
    OnFakeDevice::SetUp();
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    memory_ = std::move(*memory);
  }
  void TearDown() override { memory_.reset(); }

  RunMemory left(const ByteVector& recorded, const ByteVector& actual, const ByteVector& started = {}) {
    PlannedRegion region;
    region.prologue = region.epilogue = {Region::Kind::global, DevicePtr(0x7b0000000000), Bytes(recorded.size()), "table", {}};
    region.placement = Placement::module_symbol;
    global_.regions = {region};
    recorded_ = recorded;
    return RunMemory(*stream_, global_, memory_->expected(), {{"table", {DevicePtr(0x1000), actual, recorded_, started}}});
  }
  // How [offset, offset+size) differs.
  static RangeDifference difference(const RunMemory& memory, std::optional<ElementType> type, uint64_t offset, uint64_t size) {
    const auto found = find_differences(memory, {{"global table", "table", 0, offset, Bytes(size), type}});
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(found->size(), 1u);
    return found->at(0);
  }

  MemoryPlan global_;
  ByteVector recorded_;
  std::unique_ptr<PreparedMemory> memory_;
};
class DifferenceOfGlobal : public GlobalTest {};
class VerificationOfGlobal : public GlobalTest {};

INSTANTIATE_TEST_SUITE_P(Device, DifferenceOfGlobal, testing::Values(1_GiB));
INSTANTIATE_TEST_SUITE_P(Device, VerificationOfGlobal, testing::Values(1_GiB));

TEST_P(DifferenceOfGlobal, AnElementHasItsIndexInItsRange) {
  std::vector<float> recorded(100, 2), actual = recorded;
  actual[40] = 3;
  actual[90] = 8;  // of another range
  const RangeDifference d = difference(left(bytes_of(recorded), bytes_of(actual)), ElementType::f32, 120, 200);
  EXPECT_EQ(d.elements, 50u);
  EXPECT_EQ(d.differing, 1u);
  EXPECT_EQ(d.address, DevicePtr(0x1000 + 120));
  EXPECT_EQ(d.first.index, 10u);
  EXPECT_EQ(d.cells[10], 0.5);
}

TEST_P(DifferenceOfGlobal, ErrorsAreCountedByDecadesAndThoseFromZeroApart) {
  const std::vector<float> recorded = {1, 1, 1, 1, 1, 0, 0, 4}, actual = {1.5f, 1.0625f, 3, 2, 17, 5, -0.0f, 4};
  const RangeDifference d = difference(left(bytes_of(recorded), bytes_of(actual)), ElementType::f32, 0, 32);
  EXPECT_THAT(d.decades, ElementsAre(Pair(-2, 1), Pair(-1, 1), Pair(0, 2), Pair(1, 1)));
  EXPECT_EQ(d.from_zero, 1u);
  EXPECT_EQ(d.differing, 7u) << "-0 and 0 are other bytes";
  EXPECT_EQ(d.worst_relative.index, 5u);
  EXPECT_EQ(d.worst_absolute.index, 4u);
}

TEST_P(DifferenceOfGlobal, ACellHasTheLargestErrorOfItsRun) {
  constexpr uint64_t kElements = 2 * kPictureCells + 5;  // three to a cell
  const ByteVector recorded(kElements, std::byte{100});
  ByteVector actual = recorded, started = recorded;
  actual[3] = std::byte{150};
  actual[4] = std::byte{125};
  actual[kElements - 1] = std::byte{200};
  for (uint64_t i : {300, 301, 302, 303}) started[i] = actual[i] = ~recorded[i];
  const RangeDifference d = difference(left(recorded, actual, started), std::nullopt, 0, kElements);
  EXPECT_EQ(d.cell, 3u);
  ASSERT_EQ(d.cells.size(), (kElements + 2) / 3);
  EXPECT_EQ(d.cells[0], 0);
  EXPECT_EQ(d.cells[1], 0.5);
  EXPECT_EQ(d.cells.back(), 1);
  EXPECT_EQ(d.not_written, 4u);
  EXPECT_EQ(d.cells[100], 0) << "what was not written has no error";
  for (uint64_t cell : {99, 100, 101, 102}) EXPECT_EQ(d.cells_not_written[cell], cell == 100 || cell == 101) << cell;
}

TEST_P(DifferenceOfGlobal, TheFirstWrongElementMayLieBehindWhatWasNotWritten) {
  const std::vector<uint32_t> recorded = {7, 8, 9, 10};
  std::vector<uint32_t> actual = recorded, started = recorded;
  started[0] = actual[0] = ~recorded[0];
  actual[2] = 12;
  const RangeDifference d = difference(left(bytes_of(recorded), bytes_of(actual), bytes_of(started)), ElementType::u32, 0, 16);
  EXPECT_EQ(d.not_written, 1u);
  EXPECT_EQ(d.first_not_written, 0u);
  EXPECT_EQ(d.wrong(), 1u);
  EXPECT_EQ(d.first.index, 2u);
  EXPECT_EQ(d.worst_absolute.error.absolute, 3);
  const nlohmann::json json = to_json(d);
  EXPECT_EQ(json["first"]["actual"], "12");
  EXPECT_EQ(json["first_not_written"], 0);
  EXPECT_EQ(json["type"], "u32");
}

TEST_P(DifferenceOfGlobal, WithoutATypeElementsAreBytes) {
  const nlohmann::json json =
      to_json(difference(left(ByteVector(8, std::byte{1}), ByteVector(8, std::byte{2})), std::nullopt, 0, 8));
  EXPECT_TRUE(json["type"].is_null());
  EXPECT_TRUE(json["first_not_written"].is_null());
  EXPECT_EQ(json["elements"], 8);
}

TEST_P(DifferenceOfGlobal, TheTypicalMagnitudeIsOneThatHalfOfTheValuesReach) {
  const auto typical = [&](const std::vector<float>& recorded) {
    const ByteVector bytes = bytes_of(recorded);
    return typical_magnitude(left(bytes, bytes), {"global table", "table", 0, 0, Bytes(bytes.size()), ElementType::f32}).value();
  };
  EXPECT_EQ(typical({1, 1, 4, 4}), 4);
  EXPECT_EQ(typical({1, 1, 1, 4}), 1);
  EXPECT_EQ(typical({-11}), 8);
  EXPECT_EQ(typical({0, std::nanf(""), 0, -2, 0, INFINITY, 0, 0}), 2) << "what has no magnitude is left out";
  EXPECT_EQ(typical({0, 0}), 0);
}

TEST(DescribeNotWritten, SaysHowManyOfWhat) {
  EXPECT_EQ(describe_not_written("argument 'out'", ElementType::f32, 1000, 1), "1 of 1000 f32 of argument 'out' was not written");
  EXPECT_EQ(describe_not_written("global table", std::nullopt, 8, 2), "2 of 8 bytes of global table were not written");
}

// Where fewer are masked than make a row, all of them do.
TEST(MaskLeft, OfFewMaskedBytesAllAreEnough) {
  const ByteVector recorded(8, std::byte{3});
  ByteVector started = recorded;
  started[2] = started[5] = ~recorded[2];
  EXPECT_TRUE(MaskLeft({0, started, recorded, started}).all_of(0, 8));
  ByteVector actual = started;
  actual[5] = recorded[5];
  EXPECT_FALSE(MaskLeft({0, actual, recorded, started}).all_of(0, 4));
}

// One that allows no NaN is broken by one that was recorded, though no byte differs.
TEST_P(VerificationOfGlobal, ARecordedNanBreaksOnlyAToleranceThatAllowsNone) {
  const ByteVector bytes = bytes_of(std::vector<float>{1, std::nanf("")});
  const RunMemory memory = left(bytes, bytes);
  for (NanPolicy policy : {NanPolicy::recorded, NanPolicy::any, NanPolicy::none}) {
    const Tolerance tolerance{ElementType::f32, 0.5, ErrorKind::absolute, Norm::none, policy};
    const auto verification = verify_memory(memory, {{"global table", 0, 0, Bytes(8), tolerance}});
    ASSERT_TRUE(verification.ok()) << verification.status().to_string();
    EXPECT_EQ(verification->right(), policy != NanPolicy::none);
    EXPECT_TRUE(verification->exact);
    ASSERT_EQ(verification->tolerances.size(), 1u);
  }
}

TEST_P(VerificationOfGlobal, WhatIsWithinItsToleranceIsRightAndNotExact) {
  const ByteVector recorded = bytes_of(std::vector<float>{1, 2, 3, 4}), actual = bytes_of(std::vector<float>{1, 2, 3.25f, 4});
  const RunMemory memory = left(recorded, actual);
  const Tolerance tolerance{ElementType::f32, 0.5, ErrorKind::absolute};
  auto verification = verify_memory(memory, {{"global table", 0, 0, Bytes(16), tolerance}});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_TRUE(verification->right());
  EXPECT_FALSE(verification->exact);
  verification = verify_memory(memory, {{"global table", 0, 0, Bytes(8), tolerance}});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_FALSE(verification->exact);
  ASSERT_EQ(verification->mismatches.size(), 1u);
  EXPECT_EQ(verification->mismatches[0].where, "global table");
  EXPECT_EQ(verification->mismatches[0].address, DevicePtr(0x1000));
  EXPECT_EQ(verification->mismatches[0].first_offset, 10u);
}

TEST_P(VerificationOfGlobal, OneThatTheCodeNoLongerHasIsNotLookedAt) {
  left(ByteVector(8), ByteVector(8));
  const RunMemory without(*stream_, global_, memory_->expected(), {});
  const auto verification = verify_memory(without, {{"global table", 0, 0, Bytes(8), {}}});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_TRUE(verification->right());
  EXPECT_TRUE(verification->tolerances.empty());
}

TEST_P(DifferenceOfGlobal, TheFirstThatWasNotWrittenIsTold) {
  const ByteVector recorded(64, std::byte{7});
  ByteVector actual = recorded, started = recorded;
  for (size_t i : {9, 10, 40}) started[i] = actual[i] = ~recorded[i];
  const RangeDifference d = difference(left(recorded, actual, started), ElementType::u8, 0, 64);
  EXPECT_EQ(d.not_written + d.wrong(), 3u);
  ASSERT_GT(d.not_written, 1u);
  EXPECT_EQ(d.first_not_written, 9u);
}

// An element that can be measured tells more than one that cannot, whichever comes first.
TEST_P(DifferenceOfGlobal, TheWorstElementIsOneThatHasAnError) {
  const float nan = std::nanf("");
  for (const std::vector<float>& actual : {std::vector<float>{nan, 2.5f, 2}, std::vector<float>{2, 2.5f, nan}}) {
    const RangeDifference d = difference(left(bytes_of(std::vector<float>{2, 2, 2}), bytes_of(actual)), ElementType::f32, 0, 12);
    EXPECT_EQ(d.unfit, 1u);
    for (const ElementSample* worst : {&d.worst_absolute, &d.worst_relative, &d.worst_ulp}) EXPECT_EQ(worst->index, 1u);
    EXPECT_EQ(d.worst_absolute.error.absolute, 0.5);
  }
}

}  // namespace
}  // namespace mneme
