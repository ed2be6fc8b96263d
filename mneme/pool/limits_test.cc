#include "mneme/pool/limits.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace mneme {
namespace {

using Seconds = PoolLimits::Seconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const PoolTime kNow(seconds(1000));

TEST(WorkerLimits, AreOfEachKindOfWorkAndPartsOfASecond) {
  const WorkerLimits limits({.compiling = Seconds(0.5), .running = Seconds(1.25), .starting = Seconds(2.75)});
  EXPECT_EQ(limits.end_of_job(WorkerRole::compile, kNow), kNow + milliseconds(500));
  EXPECT_EQ(limits.end_of_job(WorkerRole::device, kNow), kNow + milliseconds(1250));
  EXPECT_EQ(limits.end_of_start(kNow), kNow + milliseconds(2750));
}

TEST(WorkerLimits, MoreThanTenYearsAreNone) {
  const WorkerLimits limits({.compiling = Seconds(1e9), .running = Seconds(3e8), .starting = Seconds(1e300)});
  EXPECT_EQ(limits.end_of_job(WorkerRole::compile, kNow), kNever);
  EXPECT_EQ(limits.end_of_job(WorkerRole::device, kNow), kNow + seconds(300'000'000));
  EXPECT_EQ(limits.end_of_start(kNow), kNever) << "which no clock can count";
}

TEST(FailedStarts, AreCountedForEachRoleAndDevice) {
  FailedStarts starts;
  for (unsigned i = 1; i < FailedStarts::kMost; ++i) {
    EXPECT_TRUE(starts.count(WorkerRole::device, 0, "no GPU", {}).ok());
    EXPECT_TRUE(starts.count(WorkerRole::device, 1, "no GPU", {}).ok());
    EXPECT_TRUE(starts.count(WorkerRole::compile, 0, "no compiler", {}).ok());
  }
  starts.forget(WorkerRole::device, 0);
  EXPECT_TRUE(starts.count(WorkerRole::device, 0, "no GPU", {}).ok());
  EXPECT_EQ(starts.count(WorkerRole::device, 1, "no GPU", {}).to_string(),
            "unavailable: 3 workers in a row did not start: the last one no GPU");
}

TEST(FailedStarts, WhomThePoolKilledForAReasonEndedByItself) {
  FailedStarts starts;
  const WorkerEnd killed{ProcessEnd(SIGKILL), {}, {}};
  EXPECT_TRUE(starts.count(WorkerRole::device, 0, "was not ready after 2 s", killed).ok());
  EXPECT_TRUE(starts.count(WorkerRole::device, 0, "was not ready after 2 s", killed).ok());
  EXPECT_TRUE(starts.count(WorkerRole::device, 0, "", killed).ok()) << "somebody else did";
  EXPECT_FALSE(starts.count(WorkerRole::device, 0, "was not ready after 2 s", killed).ok());
}

}  // namespace
}  // namespace mneme
