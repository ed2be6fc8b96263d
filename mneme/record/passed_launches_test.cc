#include "mneme/record/passed_launches.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace mneme {
namespace {

TEST(PassedLaunches, HoldForTheirHandleAsLongAsNothingIsDecidedAnew) {
  RecordingReport report{};
  PassedLaunches passed;
  int kernel = 0, other = 0;
  EXPECT_EQ(passed.find(&kernel, 0), nullptr);
  passed.keep({&kernel, &report, nullptr, NotRecorded::excluded}, 3);
  EXPECT_EQ(passed.find(&kernel, 2), nullptr);
  EXPECT_EQ(passed.find(&kernel, 4), nullptr);
  EXPECT_EQ(passed.find(&other, 3), nullptr);
  const PassedLaunch* const found = passed.find(&kernel, 3);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->reason, NotRecorded::excluded);
  passed.keep({&kernel, &report, nullptr, NotRecorded::beyond_max}, 4);
  EXPECT_EQ(found->reason, NotRecorded::excluded) << "another thread may look at it still";
  EXPECT_EQ(passed.find(&kernel, 4)->reason, NotRecorded::beyond_max);
}

// As a program does that loads one kernel after another, and has each at the place of the one before: for as long as it runs.
TEST(PassedLaunches, WhatIsKnownAgainTakesNoMoreMemory) {
  RecordingReport report{};
  PassedLaunches passed;
  ShapeCounts one, other;
  const int handle = 0;
  const PassedLaunch launches[] = {{&handle, &report, &one, NotRecorded::beyond_max},
                                   {&handle, &report, &other, NotRecorded::beyond_max}};
  std::set<const PassedLaunch*> all;
  for (uint64_t decision = 0; decision < 1000; ++decision) {
    passed.keep(launches[decision % 2], decision);
    const PassedLaunch* const found = passed.find(&handle, decision);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(*found, launches[decision % 2]);
    all.insert(found);
  }
  EXPECT_EQ(all.size(), 2u);
}

TEST(PassedLaunches, AreCountedWithTheirReasonAndInTheirShape) {
  RecordingReport report{};
  ShapeCounts shapes;
  const ProgramShape shape{{2, 1, 1}, {32, 1, 1}, Bytes(0), false};
  const PassedLaunch by_name{nullptr, &report, nullptr, NotRecorded::excluded};
  const PassedLaunch by_number{nullptr, &report, &shapes, NotRecorded::beyond_max};
  by_name.count([&] { return ADD_FAILURE() << "its shape does not count", shape; });
  for (int i = 0; i < 2; ++i) by_number.count([&] { return shape; });
  EXPECT_EQ(report.launches, 3u);
  EXPECT_EQ(report.not_recorded[static_cast<size_t>(NotRecorded::excluded)].launches, 1u);
  EXPECT_EQ(report.not_recorded[static_cast<size_t>(NotRecorded::beyond_max)].launches, 2u);
  EXPECT_EQ(shapes.launches(shape), 2u);
}

// More kernels than there are places: one that has lost its place is decided on again, and has it back.
TEST(PassedLaunches, OfManyHandlesAreNeverMistakenForEachOther) {
  RecordingReport report{};
  PassedLaunches passed;
  std::vector<int64_t> kernels(4000);
  const auto work = [&] {
    for (size_t i = 0; i < 3 * kernels.size(); ++i) {
      const size_t which = i % kernels.size();
      passed.keep({&kernels[which], &report, nullptr, which % 2 == 0 ? NotRecorded::excluded : NotRecorded::beyond_max},
                  i / 1000);
      const auto* const found = passed.find(&kernels[which], i / 1000);
      if (!found) continue;
      ASSERT_EQ(found->handle, &kernels[which]);
      ASSERT_EQ(found->reason, which % 2 == 0 ? NotRecorded::excluded : NotRecorded::beyond_max);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mneme
