#include "mneme/verify/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mneme/memory/testing/on_fake_device.h"

namespace mneme {
namespace {

using testing_memory::kData;
using testing_memory::kOther;

class VerificationTest : public testing_memory::OnFakeDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, VerificationTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(VerificationTest, WhatIsWrongIsDescribedAndUndone) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun run = restored(**memory);
  run_kernel();
  *at(kData + Bytes(2 * kPageSize.count + 3)) ^= std::byte{1};  // in a page that the kernel leaves alone
  *at(kData + Bytes(3 * kPageSize.count + 8)) ^= std::byte{1};  // in one that it changes
  *at(kOther + Bytes(300)) = std::byte{0};                      // behind an allocation
  const CheckedRun check = checked(std::move(run));
  EXPECT_FALSE(check.equal);
  EXPECT_EQ(check.first, kData + Bytes(2 * kPageSize.count));
  auto verification = judge(**memory, check, {}, {});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  ASSERT_EQ(verification->mismatches.size(), 2u);
  EXPECT_EQ(verification->mismatches[0].where, "allocation 0x7a0000000000");
  EXPECT_EQ(verification->mismatches[0].differing_bytes, 2u);
  EXPECT_EQ(verification->mismatches[0].first_offset, 2 * kPageSize.count + 3);
  EXPECT_TRUE(verification->mismatches[1].outside);
  EXPECT_EQ(verification->mismatches[1].where, "0 B behind the end of allocation 0x7a0000100000");

  RestoredRun next = restored(**memory);
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  EXPECT_EQ(*at(kOther + Bytes(300)), kSlack);
  run_kernel();
  EXPECT_TRUE(checked(std::move(next)).equal);
}

TEST_P(VerificationTest, TolerancesSpanWhatChangesAndWhatDoesNot) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun run = restored(**memory);
  run_kernel();
  std::vector<ToleratedRange> tolerated = {
      {"data", 0, 0, Bytes(before_.size()), {ElementType::u8, 1, ErrorKind::absolute, Norm::none, NanPolicy::recorded}}};
  for (uint64_t page : {2, 3}) {
    std::byte& one = *at(kData + Bytes(page * kPageSize.count + 100));
    one = std::byte(std::to_integer<int>(one) == 255 ? 254 : std::to_integer<int>(one) + 1);
  }
  auto verification = judge(**memory, checked(std::move(run)), {}, tolerated);
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_TRUE(verification->right());
  EXPECT_FALSE(verification->exact);
  ASSERT_EQ(verification->tolerances.size(), 1u);
  EXPECT_EQ(verification->tolerances[0].differences.worst, 1);
  restored(**memory);
  EXPECT_EQ(bytes_at(kData, before_.size()), before_) << "also where the kernel changes nothing";
}

// Of an allocation only a part of which is compared by its bytes the offset is from its begin.
TEST_P(VerificationTest, WhatDiffersBehindAToleratedPartIsTold) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun run = restored(**memory);
  run_kernel();
  const uint64_t place = kPageSize.count + 70;
  *at(kData + Bytes(place)) ^= std::byte{1};
  const std::vector<ToleratedRange> tolerated = {
      {"data", 0, 0, kPageSize, {ElementType::u8, 1, ErrorKind::absolute, Norm::none, NanPolicy::recorded}}};
  auto verification = judge(**memory, checked(std::move(run)), {}, tolerated);
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  ASSERT_EQ(verification->mismatches.size(), 1u);
  EXPECT_EQ(verification->mismatches[0].address, kData);
  EXPECT_EQ(verification->mismatches[0].first_offset, place);
}

// What the caller knows to be equal is not looked at, and its tolerances have their verdicts all the same.
TEST_P(VerificationTest, WhatIsEqualHasTheVerdictOfItsTolerance) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun run = restored(**memory);
  run_kernel();
  const CheckedRun check = checked(std::move(run));
  ASSERT_TRUE(check.equal);
  const std::vector<ToleratedRange> tolerated = {{"data", 0, 16, Bytes(64), {ElementType::u16, 1, ErrorKind::absolute}}};
  auto verification = judge(**memory, check, {}, tolerated);
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_TRUE(verification->exact);
  ASSERT_EQ(verification->tolerances.size(), 1u);
  EXPECT_EQ(verification->tolerances[0].address, kData + Bytes(16));
  EXPECT_EQ(verification->tolerances[0].differences.elements, 32u);
  EXPECT_TRUE(verification->tolerances[0].differences.within);
}

TEST_P(VerificationTest, MemoryOfNobodyThatDiffersIsNotExact) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun run = restored(**memory);
  run_kernel();
  *at(kData + Bytes(before_.size() + 16)) ^= std::byte{1};  // between the two allocations
  auto verification = judge(**memory, checked(std::move(run)), {}, {});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_FALSE(verification->exact);
  ASSERT_EQ(verification->mismatches.size(), 1u);
  EXPECT_EQ(verification->mismatches[0].where, "16 B behind the end of allocation 0x7a0000000000");
}

// A tolerance that allows no NaN is broken by one that was recorded, in memory of which no byte differs.
TEST_P(VerificationTest, EqualMemoryIsLookedAtForNans) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  constexpr uint64_t kPage = 2;  // which the kernel leaves alone
  const auto recorded = reinterpret_cast<const float*>(before_.data() + kPage * kPageSize.count);
  ASSERT_TRUE(std::any_of(recorded, recorded + kPageSize.count / sizeof(float), [](float f) { return std::isnan(f); }));
  RestoredRun run = restored(**memory);
  run_kernel();
  const CheckedRun check = checked(std::move(run));
  ASSERT_TRUE(check.equal);
  for (NanPolicy policy : {NanPolicy::recorded, NanPolicy::none}) {
    const Tolerance tolerance{ElementType::f32, 0, ErrorKind::absolute, Norm::none, policy};
    const auto verification = judge(**memory, check, {}, {{"data", 0, kPage * kPageSize.count, kPageSize, tolerance}});
    ASSERT_TRUE(verification.ok()) << verification.status().to_string();
    EXPECT_EQ(verification->right(), policy == NanPolicy::recorded);
    EXPECT_TRUE(verification->exact);
  }
}

}  // namespace
}  // namespace mneme
