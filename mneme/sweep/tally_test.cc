#include "mneme/sweep/tally.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

PoolResult timed(std::vector<double> nanoseconds, Failure failure = Failure::none, std::string_view label = {}) {
  PoolResult result;
  result.failure = failure;
  result.label = label;
  for (double time : nanoseconds) result.details.together.exec_time.emplace_back(time);
  return result;
}

// What was given up while it was timed has times, and they are nobody's.
TEST(SweepTally, TimesOfAFailureAreNone) {
  EXPECT_FALSE(median_time(timed({5, 6}, Failure::cancelled)).has_value());
  SweepTally tally(3);
  tally.add(timed({5, 6}, Failure::cancelled), {});
  EXPECT_EQ(tally.counts().failed, 1u);
  EXPECT_EQ(tally.counts().measured, 0u);
  EXPECT_EQ(tally.counts().launches, 0u);
  EXPECT_TRUE(tally.fastest().empty());
  tally.add_baseline(timed({5, 6}, Failure::cancelled, kBaselineAtBegin));
  EXPECT_FALSE(tally.baseline().has_value());
  EXPECT_EQ(tally.baseline_problem(), "") << "to be given up is no problem of the baseline";
  tally.add_baseline(timed({}, Failure::wrong_result));
  tally.add_baseline(timed({}, Failure::device_fault));
  EXPECT_EQ(tally.baseline_problem(), "wrong_result: ") << "the first";
}

TEST(SweepTally, ABeginAndAnEndAreTwoMeasurements) {
  SweepTally tally(1);
  tally.add_baseline(timed({10}, Failure::none, kBaselineAtBegin));
  EXPECT_FALSE(tally.baseline_at_begin_and_end());
  tally.add_baseline(timed({12}, Failure::none, kBaselineAtEnd));
  EXPECT_TRUE(tally.baseline_at_begin_and_end());
  tally.add_baseline(timed({11}, Failure::none, kBaselineAtBegin));
  EXPECT_FALSE(tally.baseline_at_begin_and_end()) << "one more is of another run";
  EXPECT_EQ(tally.baseline(), Nanoseconds(11));
}

TEST(SweepTally, LaunchesAreThoseThatWereMade) {
  SweepTally tally(1);
  PoolResult result = timed({10, 20, 30});
  result.configuration.execution.warm_up = 4;
  tally.add(result, {});
  EXPECT_EQ(tally.counts().launches, 8u) << "one verified, four to warm up, three timed";
  result.details.together.verified_run_timed = true;
  tally.add(result, {});
  EXPECT_EQ(tally.counts().launches, 15u);
  EXPECT_EQ(tally.counts().kernel_time, Nanoseconds(15 * 20));
}

// Also where both come from the log of an earlier run.
TEST(SweepTally, WhatSharesAnothersMeasurementHasNoRankOfItsOwn) {
  for (Origin origin : {Origin::shared, Origin::resumed}) {
    SweepTally tally(3);
    PoolResult measured = timed({10}), same = timed({10});
    if (origin == Origin::resumed) measured.origin = origin;
    same.origin = origin;
    same.shared_with = whole_digest(measured.configuration);
    tally.add(measured, {});
    tally.add(same, {});
    EXPECT_EQ(tally.counts().right, 2u);
    ASSERT_EQ(tally.fastest().size(), 1u);
    EXPECT_EQ(tally.alike(tally.fastest()[0]), 1u);
  }
}

TEST(SweepTally, StagesOfEachInstanceAreAdded) {
  SweepTally tally(1);
  PoolResult result = timed({10});
  result.details.together.times = {{"optimise", Nanoseconds(5)}};
  for (double load : {1, 2}) result.details.instances.emplace_back().result.times = {{"load", Nanoseconds(load)}};
  tally.add(result, {});
  EXPECT_EQ(tally.counts().stages, (std::map<std::string, double>{{"load", 3}, {"optimise", 5}}));
}

TEST(SweepTally, WhatTakesPlaceOnceIsOfNoConfiguration) {
  SweepTally tally(1);
  PoolResult result = timed({10});
  result.details.together.times = {{"session", Nanoseconds(700)}, {"load", Nanoseconds(2)}};
  result.details.instances.emplace_back().result.times = {{"session", Nanoseconds(700)}, {"load", Nanoseconds(1)}};
  tally.add(result, {});
  EXPECT_EQ(tally.counts().stages, (std::map<std::string, double>{{"load", 3}}));
}

TEST(SweepTally, NothingIsFasterThanNoTime) {
  SweepTally tally(2);
  tally.add_baseline(timed({10}));
  tally.add(timed({0}), {});
  tally.add(timed({5}), {});
  ASSERT_EQ(tally.fastest().size(), 2u);
  EXPECT_EQ(tally.speed_up(tally.fastest()[0]), std::nullopt);
  EXPECT_EQ(tally.speed_up(tally.fastest()[1]), 2.0);
}

PoolResult compiled(uint64_t instructions, uint32_t registers, Failure failure = Failure::none) {
  PoolResult result;
  result.failure = failure;
  result.details.together.stage = ReplayStage::compiled;
  result.details.together.instructions = instructions;
  result.details.together.reg_usage = registers;
  return result;
}

// Where nothing is run.
TEST(SweepTally, CodeIsRankedByItsInstructionsThenByItsRegisters) {
  SweepTally tally(3, Ranking::code);
  tally.add(compiled(300, 10), {1});
  tally.add(compiled(200, 40), {2});
  tally.add(compiled(200, 30), {3});
  tally.add(compiled(100, 30, Failure::compile_error), {4});
  PoolResult unknown = compiled(0, 1);
  unknown.details.together.instructions.reset();
  tally.add(unknown, {5});
  ASSERT_EQ(tally.fastest().size(), 3u);
  EXPECT_EQ(tally.fastest()[0].values[0], 3);
  EXPECT_EQ(tally.fastest()[1].values[0], 2);
  EXPECT_EQ(tally.fastest()[2].values[0], 1) << "what is not known comes last";
  EXPECT_EQ(tally.counts().measured, 4u);
  EXPECT_EQ(tally.counts().launches, 0u);
  EXPECT_EQ(tally.counts().failed, 1u);
  EXPECT_FALSE(tally.baseline_code().has_value());
  tally.add_baseline(compiled(400, 50));
  EXPECT_EQ(tally.baseline_code()->instructions, 400u);
  EXPECT_FALSE(tally.baseline().has_value());
  EXPECT_EQ(tally.baseline_problem(), "");
}

}  // namespace
}  // namespace mneme
