// What is known of memory before, during and after runs: only a check that found all of it as recorded leaves it trusted.
#include "mneme/memory/restored_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/memory/testing/on_fake_device.h"

namespace mneme {
namespace {

using testing_memory::kData;
using testing_memory::kOther;

class RestoredRunTest : public testing_memory::PreparedOnFakeDevice {
 protected:
  RestoredRun right_run() {
    RestoredRun run = restored(*memory_);
    run_kernel();
    return run;
  }
  // In an allocation that the recorded kernel leaves alone.
  static void write_elsewhere() { *at(kOther + Bytes(3)) = std::byte{1}; }
  // A restore puts back all memory, or only what the recorded kernel changes.
  void expect_untrusted() {
    EXPECT_FALSE(memory_->trusted());
    write_elsewhere();
    EXPECT_TRUE(checked(right_run()).equal) << "all memory is put back";
  }
  void expect_trusted() {
    EXPECT_TRUE(memory_->trusted());
    write_elsewhere();
    EXPECT_FALSE(checked(right_run()).equal) << "only what changes is put back";
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RestoredRunTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(RestoredRunTest, MemoryIsNotTrustedBeforeTheFirstRun) { expect_untrusted(); }

TEST_P(RestoredRunTest, ARightRunLeavesMemoryTrusted) {
  EXPECT_TRUE(checked(right_run()).equal);
  expect_trusted();
}

TEST_P(RestoredRunTest, ARunThatIsDroppedUncheckedLeavesMemoryUntrusted) {
  EXPECT_TRUE(checked(right_run()).equal);
  right_run();
  expect_untrusted();
}

TEST_P(RestoredRunTest, AWrongRunLeavesMemoryUntrusted) {
  EXPECT_TRUE(checked(right_run()).equal);
  RestoredRun run = restored(*memory_);
  EXPECT_FALSE(checked(std::move(run)).equal);
  expect_untrusted();
}

TEST_P(RestoredRunTest, OneOfSeveralThatIsWrongLeavesMemoryUntrusted) {
  for (const int wrong : {0, 1}) {
    EXPECT_TRUE(checked(right_run()).equal);
    for (int i = 0; i < 2; ++i) {
      RestoredRun run = restored(*memory_);
      if (i != wrong) run_kernel();
      ASSERT_TRUE(std::move(run).check_later().ok());
    }
    auto checks = memory_->take_checks();
    ASSERT_TRUE(checks.ok()) << checks.status().to_string();
    ASSERT_EQ(checks->size(), 2u);
    EXPECT_EQ((*checks)[0].equal, wrong != 0);
    EXPECT_EQ((*checks)[1].equal, wrong != 1);
    expect_untrusted();
  }
}

TEST_P(RestoredRunTest, OneOfSeveralThatIsDroppedUncheckedLeavesMemoryUntrusted) {
  {
    RestoredRun dropped = restored(*memory_), right = restored(*memory_);
    run_kernel();
    ASSERT_TRUE(std::move(right).check_later().ok());
  }
  auto checks = memory_->take_checks();
  ASSERT_TRUE(checks.ok() && checks->size() == 1) << checks.status().to_string();
  EXPECT_TRUE(checks->front().equal);
  EXPECT_FALSE(memory_->trusted());
}

TEST_P(RestoredRunTest, AChecksResultThatNobodyTookLeavesMemoryUntrusted) {
  EXPECT_TRUE(checked(right_run()).equal);
  ASSERT_TRUE(right_run().check_later().ok());
  memory_->forget_checks();
  expect_untrusted();
}

TEST_P(RestoredRunTest, RunsUnderWayDoNotPutEverythingBackEachTime) {
  EXPECT_TRUE(checked(right_run()).equal);
  RestoredRun first = right_run();
  ASSERT_TRUE(std::move(first).check_later().ok());
  EXPECT_TRUE(memory_->trusted());
  ASSERT_TRUE(right_run().check_later().ok());
  ASSERT_TRUE(memory_->take_checks().ok());
  expect_trusted();
}

TEST_P(RestoredRunTest, WhatAnEarlierLaunchOfARunWroteElsewhereIsSeenByItsCheck) {
  EXPECT_TRUE(checked(right_run()).equal);
  RestoredRun run = restored(*memory_);
  write_elsewhere();
  run_kernel();
  ASSERT_TRUE(run.restore_again().ok());
  EXPECT_EQ(*at(kOther + Bytes(3)), std::byte{1});
  EXPECT_EQ(*at(kData + kPageSize + Bytes(5)), before_[kPageSize.count + 5]) << "what the kernel changes is as before";
  run_kernel();
  const CheckedRun check = checked(std::move(run));
  EXPECT_FALSE(check.equal);
  EXPECT_EQ(check.first, kOther);
}

// Code whose first run was within a tolerance, and wrote elsewhere, does so in each of its launches.
TEST_P(RestoredRunTest, ARunThatBeganOnUntrustedMemoryHasAllOfItPutBackEachTime) {
  RestoredRun run = restored(*memory_);
  for (int i = 0; i < 2; ++i) {
    write_elsewhere();
    run_kernel();
    ASSERT_TRUE(run.restore_again().ok());
    EXPECT_EQ(*at(kOther + Bytes(3)), std::byte{9});
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  }
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
}

TEST_P(RestoredRunTest, ARunIsCheckedOnce) {
  RestoredRun run = right_run();
  EXPECT_TRUE(checked(std::move(run)).equal);
  EXPECT_EQ(std::move(run).check().status().to_string(), "internal: checking a run that was checked");
  EXPECT_EQ(std::move(run).check_later().to_string(), "internal: checking a run that was checked");
  EXPECT_EQ(run.restore_again().to_string(), "internal: restoring the memory of a run that was checked");
  EXPECT_TRUE(memory_->trusted());
}

TEST_P(RestoredRunTest, ARunThatWasMovedIsAnothersToCheck) {
  RestoredRun run = right_run();
  {
    RestoredRun moved = std::move(run);
    EXPECT_TRUE(checked(std::move(moved)).equal);
  }
  EXPECT_TRUE(memory_->trusted());
  EXPECT_EQ(std::move(run).check().status().code(), Code::internal);
}

TEST_P(RestoredRunTest, ACheckIsNotMixedUpWithOneThatWasNotTaken) {
  RestoredRun earlier = restored(*memory_);
  ASSERT_TRUE(std::move(earlier).check_later().ok());
  EXPECT_EQ(right_run().check().status().to_string(), "internal: checking a run while 1 others were not taken");
}

TEST_P(RestoredRunTest, ChecksWhoseResultsAreLostLeaveMemoryUntrusted) {
  EXPECT_TRUE(checked(right_run()).equal);
  ASSERT_TRUE(right_run().check_later().ok());
  device_->set_failures(
      [](std::string_view call) { return call == "take_comparisons" ? error(Code::io, "scripted") : Status(); });
  EXPECT_EQ(memory_->take_checks().status().to_string(), "io: scripted");
  device_->set_failures({});
  expect_untrusted();
}

}  // namespace
}  // namespace mneme
