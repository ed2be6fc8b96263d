// When to stop, what is refused on which device, and the few numbers that times are told in.
#include "mneme/measure/execution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mneme/measure/stage_clock.h"
#include "mneme/measure/stopping_rule.h"
#include "mneme/measure/time_statistics.h"

namespace mneme {
namespace {

std::vector<Nanoseconds> times(std::initializer_list<double> counts) {
  std::vector<Nanoseconds> result;
  for (double count : counts) result.emplace_back(count);
  return result;
}

TEST(TimeStatistics, OfNoneOneAndMany) {
  EXPECT_EQ(statistics_of({}).count, 0u);
  TimeStatistics one = statistics_of(times({7}));
  EXPECT_EQ(one.min.count(), 7);
  EXPECT_EQ(one.median.count(), 7);
  EXPECT_EQ(one.standard_deviation.count(), 0);
  EXPECT_EQ(one.relative_error, 0);
  TimeStatistics many = statistics_of(times({9, 2, 4, 5}));
  EXPECT_EQ(many.count, 4u);
  EXPECT_EQ(many.min.count(), 2);
  EXPECT_EQ(many.median.count(), 4.5);
  EXPECT_EQ(many.mean.count(), 5);
  EXPECT_DOUBLE_EQ(many.standard_deviation.count(), std::sqrt(26.0 / 3));
  EXPECT_DOUBLE_EQ(many.relative_error, std::sqrt(26.0 / 3) / 5 / 2);
  EXPECT_EQ(statistics_of(times({3, 1, 2})).median.count(), 2);
}

TEST(FormatTime, IsInTheLargestUnitInWhichItIsAtLeastOne) {
  const std::pair<double, const char*> kTimes[] = {{0, "0 ns"},
                                                   {0.25, "0.25 ns"},
                                                   {1, "1 ns"},
                                                   {9.99, "9.99 ns"},
                                                   {9.996, "10 ns"},
                                                   {912.4, "912 ns"},
                                                   {999.4, "999 ns"},
                                                   {999.6, "1.00 us"},
                                                   {12'310, "12.31 us"},
                                                   {999'994, "999.99 us"},
                                                   {999'996, "1.00 ms"},
                                                   {1'200'000, "1.20 ms"},
                                                   {999'994'000, "999.99 ms"},
                                                   {999'996'000, "1.00 s"},
                                                   {3.41e9, "3.41 s"},
                                                   {999.994e9, "999.99 s"},
                                                   {999.996e9, "1000 s"},
                                                   {12'345e9, "12345 s"}};
  for (const auto& [time, text] : kTimes) EXPECT_EQ(format_time(Nanoseconds(time)), text) << time;
}

TEST(StoppingRule, AFixedNumberComesInBatches) {
  Execution execution;
  execution.iterations = 150;
  StoppingRule rule(execution);
  EXPECT_EQ(rule.next({}, Nanoseconds(0)), 64u);
  EXPECT_EQ(rule.next(std::vector<Nanoseconds>(128, Nanoseconds(1)), Nanoseconds(1e12)), 22u);
  EXPECT_EQ(rule.next(std::vector<Nanoseconds>(150, Nanoseconds(1)), Nanoseconds(0)), 0u);
  execution.iterations = 0;
  EXPECT_EQ(StoppingRule(execution).next({}, Nanoseconds(0)), 0u);
}

TEST(StoppingRule, ARelativeErrorEndsWhenTheMeanIsKnown) {
  Execution execution;
  execution.stop = StopWhen::relative_error;
  execution.relative_error = 0.05;
  execution.min_iterations = 4;
  execution.max_iterations = 20;
  StoppingRule rule(execution);
  EXPECT_EQ(rule.next({}, Nanoseconds(0)), 4u);
  EXPECT_EQ(rule.next(times({10, 10}), Nanoseconds(0)), 2u);
  EXPECT_EQ(rule.next(times({10, 10, 10, 10}), Nanoseconds(0)), 0u);
  EXPECT_EQ(rule.next(times({10, 11, 10, 11}), Nanoseconds(0)), 0u);  // 2.7 %
  EXPECT_EQ(rule.next(times({8, 12, 8, 12}), Nanoseconds(0)), 4u);    // 11.5 %: five times as many, twice at once
  EXPECT_EQ(rule.next(times({8, 11, 9, 11}), Nanoseconds(0)), 4u);    // 7.7 %
  EXPECT_EQ(rule.next(std::vector<Nanoseconds>(20, Nanoseconds(5)), Nanoseconds(0)), 0u);
  execution.min_iterations = 1;
  EXPECT_EQ(StoppingRule(execution).next({}, Nanoseconds(0)), 2u) << "one has no spread";
  EXPECT_EQ(StoppingRule(execution).next(times({10}), Nanoseconds(0)), 1u);
  execution.max_iterations = 1;
  EXPECT_EQ(StoppingRule(execution).next({}, Nanoseconds(0)), 1u);
  EXPECT_EQ(StoppingRule(execution).next(times({10}), Nanoseconds(0)), 0u);
  std::vector<Nanoseconds> wild;
  for (int i = 0; i < 18; ++i) wild.emplace_back(i % 2 == 0 ? 1 : 100);
  EXPECT_EQ(rule.next(wild, Nanoseconds(0)), 2u);  // the most
}

TEST(StoppingRule, ATimeEndsWhenItIsOver) {
  Execution execution;
  execution.stop = StopWhen::time;
  execution.max_time = 1e-6;
  execution.min_iterations = 2;
  execution.max_iterations = 1000;
  StoppingRule rule(execution);
  EXPECT_EQ(rule.next({}, Nanoseconds(0)), 2u);
  EXPECT_EQ(rule.next(times({1, 1}), Nanoseconds(100)), 18u);
  EXPECT_EQ(rule.next(times({1, 1}), Nanoseconds(300)), 4u) << "a seventh would begin too late";
  EXPECT_EQ(rule.next(times({1, 1}), Nanoseconds(900)), 1u);
  EXPECT_EQ(rule.next(times({1, 1}), Nanoseconds(1000)), 0u);
  EXPECT_EQ(rule.next(times({1}), Nanoseconds(5000)), 1u);  // the least, however long it takes
  EXPECT_EQ(rule.next(times({1, 1}), Nanoseconds(1e-3)), 64u);
}

TEST(StageClock, TimesEachStepFromTheEndOfTheOneBefore) {
  const auto begin = std::chrono::steady_clock::now();
  StageClock clock;
  Nanoseconds sum{};
  for (int i = 0; i < 100; ++i) {
    for (const auto now = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() == now;) continue;
    const Nanoseconds lap = clock.lap();
    EXPECT_GT(lap.count(), 0);
    sum += lap;
  }
  EXPECT_LE(sum, std::chrono::steady_clock::now() - begin);
}

TEST(Execution, RefusesWhatHasNoEffect) {
  DeviceProperties cpu, gpu;
  cpu.kind = DeviceKind::cpu;
  gpu.kind = DeviceKind::cuda;
  gpu.l2_cache = 50_MiB;
  gpu.hardware_id = "0000:1b:00.0";
  Execution execution;
  EXPECT_TRUE(check_execution(execution, cpu).ok());
  execution.l2 = CacheState::cold;
  EXPECT_EQ(check_execution(execution, cpu).to_string(),
            "unsupported: execution.l2 'cold' has no effect on the device cpu, which has no L2 cache to prepare");
  execution.l2 = CacheState::warm;
  EXPECT_EQ(check_execution(execution, cpu).to_string(),
            "unsupported: execution.l2 'warm' has no effect on the device cpu, which has no L2 cache to prepare");
  execution.shared_device = true;
  EXPECT_TRUE(check_execution(execution, gpu).ok());
  execution.l2 = CacheState::as_it_comes;
  EXPECT_EQ(check_execution(execution, cpu).to_string(),
            "unsupported: execution.shared_device has no effect on the device cpu, which is always shared");
  execution.min_iterations = 9;
  execution.max_iterations = 8;
  EXPECT_TRUE(check_execution(execution, gpu).ok());  // not used
  execution.stop = StopWhen::time;
  EXPECT_EQ(check_execution(execution, gpu).to_string(),
            "invalid_argument: execution.min_iterations 9 is more than execution.max_iterations 8");
}

TEST(Execution, AsFewIterationsAsThereMayBeAtMost) {
  Execution execution;
  execution.stop = StopWhen::relative_error;
  execution.min_iterations = execution.max_iterations = 8;
  EXPECT_TRUE(check_execution(execution, {}).ok());
}

}  // namespace
}  // namespace mneme
