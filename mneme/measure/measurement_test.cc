// What is done around each timed launch, in its order, on the fake device.
#include "mneme/measure/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "mneme/base/activity.h"
#include "mneme/device/fake/fake_device.h"
#include "mneme/measure/stopping_rule.h"
#include "mneme/process/guarded.h"

namespace mneme {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class MeasurementTest : public testing::Test {
 protected:
  void SetUp() override {
    DeviceProperties properties = fake::FakeDevice::default_properties();
    properties.l2_cache = 1_MiB;
    device_ = std::make_unique<fake::FakeDevice>(properties);
    device_->define_kernel("work", fake::FakeKernel{[](const fake::FakeLaunch&) { return Status(); }, {}, Nanoseconds(70), {}});
    module_ = std::move(device_->load({DeviceKind::fake, {}})).value();
    kernel_ = *module_->kernel("work");
    stream_ = std::move(device_->create_stream()).value();
    measurer_ = std::make_unique<Measurer>(*device_, *stream_);
    setup_calls_ = device_->calls().size();
  }

  Result<Measurement> measure(const Execution& execution) {
    auto restore = [&] { return stream_->copy(memory_, memory_, Bytes(0)); };
    auto read_through = [&] { return stream_->read_through(memory_, Bytes(8)); };
    return measurer_->measure(execution, {*kernel_, shape_, {}, restore, read_through});
  }
  // A launch of a kernel that takes `time`.
  void begin(const Execution& execution, double time) {
    const std::string name = fmt::format("takes {}", time);
    device_->define_kernel(name, fake::FakeKernel{[](const fake::FakeLaunch&) { return Status(); }, {}, Nanoseconds(time), {}});
    auto begun = measurer_->begin(execution, {**module_->kernel(name), shape_, {}, [] { return Status(); }, {}}, {});
    ASSERT_TRUE(begun.ok()) << begun.status().to_string();
  }
  void begin(unsigned count, double time) {
    Execution execution;
    execution.iterations = count;
    begin(execution, time);
  }
  std::vector<std::string> calls() {
    std::vector<std::string> all = device_->calls();
    return {all.begin() + static_cast<std::ptrdiff_t>(setup_calls_), all.end()};
  }

  std::unique_ptr<fake::FakeDevice> device_;
  std::unique_ptr<Module> module_;
  Kernel* kernel_ = nullptr;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Measurer> measurer_;
  LaunchShape shape_;
  DevicePtr memory_;
  size_t setup_calls_ = 0;
};

Execution iterations(unsigned count) {
  Execution execution;
  execution.iterations = count;
  return execution;
}

TEST_F(MeasurementTest, NobodyWaitsBetweenRestoringAndLaunching) {
  auto measured = measure(iterations(3));
  ASSERT_TRUE(measured.ok()) << measured.status().to_string();
  EXPECT_EQ(measured->times, std::vector<Nanoseconds>(3, Nanoseconds(70)));
  EXPECT_EQ(measured->clock.source, "script");
  EXPECT_FALSE(measured->clocks.has_value());
  EXPECT_THAT(calls(),
              ElementsAre("clock", "copy", "launch_timed", "copy", "launch_timed", "copy", "launch_timed", "take_times"));
}

TEST_F(MeasurementTest, WhatIsLeftGetsItsTimesTogether) {
  device_->set_clock_readings({{1000, {}}, {2000, {"power cap"}}, {3000, {}}});
  begin(2, 10);
  ASSERT_TRUE(measurer_->can_leave());
  measurer_->leave();
  begin(1, 20);
  measurer_->leave();
  EXPECT_THAT(calls(), Not(Contains("take_times")));
  auto left = measurer_->take_left();
  ASSERT_TRUE(left.ok()) << left.status().to_string();
  ASSERT_EQ(left->size(), 2u);
  EXPECT_THAT((*left)[0].times, ElementsAre(Nanoseconds(10), Nanoseconds(10)));
  EXPECT_THAT((*left)[1].times, ElementsAre(Nanoseconds(20)));
  // A reading between two is of both.
  EXPECT_EQ((*left)[0].clocks->sm_mhz_before, 1000u);
  EXPECT_EQ((*left)[0].clocks->sm_mhz_after, 2000u);
  EXPECT_THAT((*left)[0].clocks->throttled, ElementsAre("power cap"));
  EXPECT_EQ((*left)[1].clocks->sm_mhz_before, 2000u);
  EXPECT_EQ((*left)[1].clocks->sm_mhz_after, 3000u);
  EXPECT_EQ(std::ranges::count(calls(), "take_times"), 1);
  EXPECT_TRUE(measurer_->take_left()->empty());
  EXPECT_EQ(std::ranges::count(calls(), "take_times"), 1);
}

TEST_F(MeasurementTest, WhatIsFinishedOrForgottenGivesWhatWasLeftItsTimes) {
  begin(2, 10);
  measurer_->leave();
  begin(3, 20);
  EXPECT_EQ(measurer_->finish()->times, std::vector<Nanoseconds>(3, Nanoseconds(20)));
  begin(1, 30);
  measurer_->leave();
  begin(2, 40);
  measurer_->forget();
  const size_t fetched = std::ranges::count(calls(), "take_times");
  auto left = measurer_->take_left();
  ASSERT_EQ(left->size(), 2u);
  EXPECT_THAT((*left)[0].times, ElementsAre(Nanoseconds(10), Nanoseconds(10)));
  EXPECT_THAT((*left)[1].times, ElementsAre(Nanoseconds(30)));
  EXPECT_EQ(std::ranges::count(calls(), "take_times"), fetched) << "they are there";
}

TEST_F(MeasurementTest, WhereLaunchesDependOnTimesNothingIsLeft) {
  for (StopWhen stop : {StopWhen::relative_error, StopWhen::time}) {
    Execution execution;
    execution.stop = stop;
    begin(execution, 10);
    EXPECT_FALSE(measurer_->can_leave());
    measurer_->forget();
  }
  begin(StoppingRule::kLargestBatch + 1, 10);
  EXPECT_FALSE(measurer_->can_leave()) << "not all are started";
  measurer_->forget();
  begin(0, 10);
  EXPECT_FALSE(measurer_->can_leave()) << "there is nothing to fetch";
}

TEST_F(MeasurementTest, WhatWasLeftIsLostWithTheTimesOfAnother) {
  begin(1, 10);
  measurer_->leave();
  begin(1, 20);
  device_->set_failures(
      [](std::string_view call) { return call == "take_times" ? error(Code::device_fault, "no times today") : Status(); });
  EXPECT_EQ(measurer_->finish().status().message(), "no times today");
  device_->set_failures({});
  EXPECT_EQ(measurer_->take_left().status().message(), "no times today");
  EXPECT_TRUE(measurer_->take_left()->empty());

  // All that were left are.
  begin(1, 10);
  measurer_->leave();
  begin(1, 20);
  measurer_->leave();
  begin(1, 30);
  device_->set_failures(
      [](std::string_view call) { return call == "take_times" ? error(Code::device_fault, "no times today") : Status(); });
  EXPECT_FALSE(measurer_->finish().ok());
  device_->set_failures({});
  EXPECT_EQ(measurer_->take_left().status().message(), "no times today");
  measurer_->forget();  // what the stream has of them

  begin(2, 10);
  measurer_->leave();
  ASSERT_TRUE(stream_->take_times().ok());  // somebody else has
  EXPECT_EQ(measurer_->take_left().status().message(), "timing launches: there are times of 0 of them only");
}

TEST_F(MeasurementTest, ALaunchBeforeCanBeTheFirstOfThoseThatAreTimed) {
  ASSERT_TRUE(stream_->launch_timed(*kernel_, shape_, {}).ok());
  auto begun = measurer_->begin(iterations(3), {*kernel_, shape_, {}, [] { return Status(); }, {}}, {}, 1);
  ASSERT_TRUE(begun.ok()) << begun.status().to_string();
  EXPECT_EQ(*begun, 2u) << "more";
  EXPECT_TRUE(measurer_->can_leave());
  EXPECT_EQ(measurer_->finish()->times.size(), 3u);

  ASSERT_TRUE(stream_->launch_timed(*kernel_, shape_, {}).ok());
  measurer_->forget();  // what did not come to its begin
  EXPECT_EQ(measure(iterations(2))->times.size(), 2u);
}

TEST_F(MeasurementTest, TheFirstLaunchCountsWhereItIsAsTheOthers) {
  const auto may = [&](const Execution& execution) { return *measurer_->may_count_first(execution); };
  EXPECT_FALSE(may(iterations(7))) << "nobody knows yet how long one takes";
  begin(1, 100);  // a hundred times what the fake device says that a first launch takes longer
  EXPECT_TRUE(measurer_->finish().ok());
  EXPECT_FALSE(may(iterations(7)));
  begin(1, 101);
  EXPECT_TRUE(measurer_->finish().ok());
  EXPECT_TRUE(may(iterations(7)));

  EXPECT_FALSE(may(iterations(1))) << "one that is not the first is wanted";
  Execution other = iterations(7);
  other.warm_up = 1;
  EXPECT_FALSE(may(other));
  other = iterations(7);
  other.l2 = CacheState::cold;
  EXPECT_FALSE(may(other));
  other = iterations(7);
  other.stop = StopWhen::relative_error;
  EXPECT_FALSE(may(other));
}

TEST_F(MeasurementTest, WarmUpLaunchesAreNotTimed) {
  Execution execution = iterations(1);
  execution.warm_up = 2;
  EXPECT_EQ(measure(execution)->times.size(), 1u);
  EXPECT_THAT(calls(), ElementsAre("clock", "copy", "launch", "copy", "launch", "copy", "launch_timed", "take_times"));
}

TEST_F(MeasurementTest, AColdCacheIsEmptiedAfterTheMemoryIsBack) {
  Execution execution = iterations(2);
  execution.l2 = CacheState::cold;
  ASSERT_TRUE(measure(execution).ok());
  EXPECT_THAT(calls(),
              ElementsAre("clock", "copy", "allocate", "fill", "launch_timed", "copy", "fill", "launch_timed", "take_times"));
  measurer_.reset();
  EXPECT_EQ(calls().back(), "free");
}

TEST_F(MeasurementTest, AWarmCacheIsReadThroughAfterTheMemoryIsBack) {
  Execution execution = iterations(1);
  execution.l2 = CacheState::warm;
  ASSERT_TRUE(measure(execution).ok());
  EXPECT_THAT(calls(), ElementsAre("clock", "copy", "read_through", "launch_timed", "take_times"));
}

TEST_F(MeasurementTest, EqualTimesAreKnownAtOnce) {
  Execution execution;
  execution.stop = StopWhen::relative_error;
  execution.min_iterations = 4;
  EXPECT_EQ(measure(execution)->times.size(), 4u);
}

TEST_F(MeasurementTest, NoIterationsTimeNothing) {
  Execution execution = iterations(0);
  execution.warm_up = 5;
  EXPECT_TRUE(measure(execution)->times.empty());
  EXPECT_THAT(calls(), ElementsAre("clock"));
}

TEST_F(MeasurementTest, ClocksAreReadAroundTheLaunches) {
  device_->set_clock_readings({{1980, {}}, {1980, {"power cap"}}, {1755, {"power cap", "thermal slowdown"}}});
  auto measured = measure(iterations(100));  // two batches
  ASSERT_TRUE(measured.ok() && measured->clocks.has_value());
  EXPECT_EQ(measured->clocks->sm_mhz_before, 1980u);
  EXPECT_EQ(measured->clocks->sm_mhz_after, 1755u);
  EXPECT_THAT(measured->clocks->throttled, ElementsAre("power cap", "thermal slowdown"));
  EXPECT_THAT(
      describe_problems(*measured->clocks),
      ElementsAre("the device's clock was 1980 MHz before the timed launches and 1755 MHz after them: the times are of no one "
                  "clock",
                  "the device's clocks were held down while kernels were timed: power cap, thermal slowdown"));
}

TEST(Measurement, AClockThatChangesByMoreThanAHundredthIsTold) {
  for (uint32_t after : {1980u, 1965u, 1995u, 1961u, 1999u}) EXPECT_TRUE(describe_problems({1980, after, {}}).empty()) << after;
  for (uint32_t after : {1960u, 2000u, 990u}) EXPECT_EQ(describe_problems({1980, after, {}}).size(), 1u) << after;
}

// As a GPU's launches do: nobody notices before their times are taken, or the warm-up is waited for.
TEST_F(MeasurementTest, LaunchesThatNeverEndAreNoticedByWhoWatches) {
  for (const char* hanging : {"launch", "take_times"}) {
    device_->set_failures([&](std::string_view call) {
      while (call == hanging) ::pause();
      return Status();
    });
    Execution execution = iterations(3);
    execution.warm_up = 1;
    auto end = run_guarded({.running = GuardLimits::Seconds(0.1)}, [&] { return measure(execution).status().to_string(); });
    ASSERT_TRUE(end.ok()) << end.status().to_string();
    EXPECT_EQ(end->how, GuardedEnd::How::out_of_time) << hanging << ": " << end->reply;
    EXPECT_EQ(end->activity, Activity::timing) << hanging;
  }
}

// What is waited for together may take as long as all of it does.
TEST_F(MeasurementTest, TimedLaunchesMayTakeAsLongAsTheWarmUpAndAllOfThem) {
  auto board = ActivityBoard::create();
  ASSERT_TRUE(board.ok());
  board->show_this_process();
  std::map<std::string, ActivityBoard::Reading> at;
  device_->set_failures([&](std::string_view call) {
    at[std::string(call)] = board->read();
    return Status();
  });
  Execution execution = iterations(3);
  execution.warm_up = 2;
  ASSERT_TRUE(measurer_->measure(execution, {*kernel_, shape_, {}, [] { return Status(); }, {}, std::chrono::seconds(1)}).ok());
  device_->set_failures({});
  for (const char* call : {"launch", "launch_timed", "take_times"}) {
    EXPECT_EQ(at[call].activity, Activity::timing) << call;
    EXPECT_EQ(at[call].allowance, std::chrono::seconds(51)) << call << ": ten times each, and a little more";
  }
}

TEST_F(MeasurementTest, WhatFailsIsPassedOn) {
  for (const char* failing : {"clock", "copy", "launch_timed", "take_times"}) {
    device_->set_failures([&](std::string_view call) { return call == failing ? error(Code::io, "scripted") : Status(); });
    EXPECT_EQ(measure(iterations(2)).status().to_string(), "io: scripted") << failing;
  }
}

TEST_F(MeasurementTest, WhoWatchesIsToldAfterAsManyLaunchesAsFitBetweenTwoReports) {
  const auto seen = [&](Nanoseconds expected, unsigned count) {
    std::vector<size_t> batches;
    const auto see = [&](std::span<const Nanoseconds> times) {
      batches.push_back(times.size());
      return true;
    };
    const MeasuredLaunch launch{*kernel_, shape_, {}, [] { return Status(); }, {}, expected};
    EXPECT_EQ(measurer_->measure(iterations(count), launch, see)->times.size(), count);
    return batches;
  };
  EXPECT_THAT(seen(Nanoseconds(kReportEvery) / 2, 5), ElementsAre(2, 2));
  EXPECT_THAT(seen(Nanoseconds(kReportEvery) * 3, 3), ElementsAre(1, 1)) << "one at least";
}

TEST_F(MeasurementTest, TheLatestTimeTellsWhetherAFirstLaunchCounts) {
  for (const bool long_last : {false, true}) {
    begin(1, long_last ? 1 : 1000);
    measurer_->leave();
    begin(1, long_last ? 1000 : 1);
    ASSERT_TRUE(measurer_->finish().ok());
    EXPECT_EQ(*measurer_->may_count_first(iterations(7)), long_last);
    ASSERT_TRUE(measurer_->take_left().ok());
  }
}

TEST_F(MeasurementTest, WhatIsForgottenIsNotLeft) {
  begin(1, 10);
  measurer_->forget();
  EXPECT_FALSE(measurer_->can_leave());
}

TEST_F(MeasurementTest, WhereATimeStopsItBeginsBehindTheWarmUp) {
  Execution execution;
  execution.stop = StopWhen::time;
  execution.warm_up = 1;
  execution.min_iterations = 1;
  execution.max_time = 1e-9;
  ASSERT_TRUE(measure(execution).ok());
  EXPECT_THAT(calls(), ElementsAre("clock", "copy", "launch", "synchronize", "copy", "launch_timed", "take_times"));
}

}  // namespace
}  // namespace mneme
