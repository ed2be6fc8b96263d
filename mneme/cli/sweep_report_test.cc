#include "mneme/cli/sweep_report.h"

#include <gtest/gtest.h>

#include "mneme/measure/time_statistics.h"

namespace mneme::cli {
namespace {

using Json = nlohmann::json;

// A right result of these times in microseconds.
PoolResult right(uint32_t block, std::vector<double> times) {
  PoolResult result;
  result.configuration.block.x = block;
  ReplayResult& measured = result.details.together;
  measured.stage = ReplayStage::done;
  for (double time : times) measured.exec_time.emplace_back(1000 * time);
  measured.reg_usage = 24;
  measured.obj_size = Bytes(4096);
  measured.times = {{"optimise", Nanoseconds(1e6)}, {"session", Nanoseconds(1e9)}};
  return result;
}

PoolResult failed(uint32_t block, Failure failure, const std::string& reason) {
  PoolResult result;
  result.configuration.block.x = block;
  result.failure = failure;
  result.reason = reason;
  return result;
}

PoolResult baseline(std::string_view label, std::vector<double> times) {
  PoolResult result = right(0, std::move(times));
  result.label = label;
  return result;
}

struct SweepReport : ::testing::Test {
  SweepReport() {
    plan.axes = {*parse_axis("block.x=64:512:64"), *parse_axis("passes=default<O3>")};
    plan.as_built = "default<O2>";
    tally.add_baseline(baseline(kBaselineAtBegin, {10, 10, 10}));
    tally.add(right(64, {9, 8, 7}), {64, "default<O3>"});
    tally.add(right(128, {5, 5, 6}), {128, "default<O3>"});
    PoolResult shared = right(192, {5, 5, 6});
    shared.origin = Origin::shared;
    shared.shared_with = whole_digest(right(128, {}).configuration);
    tally.add(shared, {192, "default<O3>"});
    tally.add(failed(256, Failure::wrong_result, "memory differs"), {256, "default<O3>"});
    tally.add(failed(320, Failure::wrong_result, "memory differs too"), {320, "default<O3>"});
    tally.add(failed(384, Failure::invalid_launch, "too many threads"), {384, "default<O3>"});
    PoolResult resumed = right(448, {20, 20});
    resumed.origin = Origin::resumed;
    tally.add(resumed, {448, "default<O3>"});
  }
  SweepPlan plan;
  SweepTally tally{2};
  SweepRate rate;
};

TEST_F(SweepReport, RanksMeasurementsNotConfigurations) {
  ASSERT_EQ(tally.fastest().size(), 2u);
  EXPECT_EQ(tally.fastest()[0].time, Nanoseconds(5000));
  EXPECT_EQ(tally.fastest()[0].values, (std::vector<Json>{128, "default<O3>"}));
  EXPECT_EQ(tally.alike(tally.fastest()[0]), 1u);
  EXPECT_EQ(tally.fastest()[1].time, Nanoseconds(8000));
  EXPECT_EQ(tally.speed_up(tally.fastest()[0]), 2.0);
}

TEST_F(SweepReport, OfEquallyFastOnesTheFirstStaysAhead) {
  tally.add(right(512, {5, 5, 6}), {512, "default<O3>"});
  ASSERT_EQ(tally.fastest().size(), 2u);
  EXPECT_EQ(tally.fastest()[0].values, (std::vector<Json>{128, "default<O3>"}));
  EXPECT_EQ(tally.fastest()[1].values, (std::vector<Json>{512, "default<O3>"}));
}

TEST_F(SweepReport, CountsWhatWasMeasuredForItself) {
  const SweepTally::Counts& counts = tally.counts();
  EXPECT_EQ(counts.done, 7u);
  EXPECT_EQ(counts.right, 4u);
  EXPECT_EQ(counts.failed, 3u);
  EXPECT_EQ(counts.measured, 2u);
  EXPECT_EQ(counts.shared, 1u);
  EXPECT_EQ(counts.resumed, 1u);
  EXPECT_EQ(counts.launches, 8u);
  EXPECT_EQ(counts.kernel_time, Nanoseconds(4 * 8000 + 4 * 5000));
  EXPECT_EQ(counts.stages, (std::map<std::string, double>{{"optimise", 2e6}}));
}

TEST_F(SweepReport, TheLineSaysHowFarItIs) {
  EXPECT_EQ(sweep_line(9, tally, rate), "7 of 9, 3 failed (2 wrong_result, 1 invalid_launch), best 5.00 us (2.00 x)");
  rate.seconds = 3;
  rate.now.device_busy = std::chrono::milliseconds(1500);
  EXPECT_EQ(sweep_line(9, tally, rate),
            "7 of 9, 3 failed (2 wrong_result, 1 invalid_launch), best 5.00 us (2.00 x), 0.7/s, device 50 % busy, 1.0 s left");
  EXPECT_EQ(sweep_line(9, SweepTally(1), {}), "0 of 9");
}

TEST_F(SweepReport, TheTableHasTheFastestAndTheFailures) {
  tally.add_baseline(baseline(kBaselineAtEnd, {12}));
  rate.seconds = 2;
  rate.now.device_busy = std::chrono::seconds(1);
  EXPECT_EQ(sweep_table(plan, 8, tally, rate),
            "RANK  block.x  passes       TIME     SPEED-UP      REGISTERS  OBJECT    VERIFIED     ALIKE\n"
            "1     128      default<O3>  5.00 us  2.00 to 2.40  24         4.00 KiB  to the byte  1\n"
            "2     64       default<O3>  8.00 us  1.25 to 1.50  24         4.00 KiB  to the byte  0\n"
            "\n"
            "as recorded (as-built: default<O2>): 10.00 us and 12.00 us at the begin and the end; they differ by 20 %, and so "
            "may the others: "
            "speed-ups are over the least and over the most\n"
            "7 of 8 configurations done: 4 verified, 3 failed; 1 shared another's measurement; 1 of an earlier run\n"
            "2 measured in 2.0 s, 1.0 a second; 1 device busy 50 %, 1 compile worker 0 %\n"
            "2 wrong_result, as block.x=256 passes=default<O3>: memory differs\n"
            "1 invalid_launch, as block.x=384 passes=default<O3>: too many threads\n");
}

TEST_F(SweepReport, SpeedUpsOverASteadyBaselineAreOneFigure) {
  tally.add_baseline(baseline(kBaselineAtEnd, {10.4}));
  EXPECT_NE(sweep_table(plan, 8, tally, rate).find("  5.00 us  2.040     24"), std::string::npos);
}

TEST_F(SweepReport, TwoBeginsAreNoBeginAndEnd) {
  tally.add_baseline(baseline(kBaselineAtBegin, {10.4}));
  EXPECT_NE(sweep_table(plan, 8, tally, rate).find("\nas recorded (as-built: default<O2>): 10.00 us and 10.40 us\n"),
            std::string::npos);
}

TEST_F(SweepReport, ALongValueThatFailedIsCut) {
  SweepTally long_one(1);
  long_one.add(failed(64, Failure::compile_error, "no such pass"), {64, std::string(1000, 'x')});
  EXPECT_NE(sweep_table(plan, 1, long_one, rate)
                .find("1 compile_error, as block.x=64 passes=" + std::string(97, 'x') + "...: no such pass\n"),
            std::string::npos);
}

TEST_F(SweepReport, WithoutABaselineThereAreNoSpeedUps) {
  SweepTally alone(1);
  alone.add(right(64, {1}), {64, "a pass pipeline that is much longer than a table should be wide"});
  alone.add_baseline(failed(0, Failure::wrong_result, "memory differs"));
  EXPECT_EQ(
      sweep_table(plan, 1, alone, rate),
      "RANK  block.x  passes                                    TIME     SPEED-UP  REGISTERS  OBJECT    VERIFIED     ALIKE\n"
      "1     64       a pass pipeline that is much longer t...  1.00 us  -         24         4.00 KiB  to the byte  0\n"
      "\n"
      "as recorded: not measured: wrong_result: memory differs, so that there are no speed-ups\n"
      "1 of 1 configuration done: 1 verified, 0 failed\n");
  EXPECT_EQ(sweep_json(plan, 1, alone, rate)["best"][0]["speed_up"], nullptr);
  EXPECT_EQ(sweep_json(plan, 1, alone, rate)["baseline"]["problem"], "wrong_result: memory differs");
}

TEST_F(SweepReport, HowSeveralInstancesAreWeighedIsSaid) {
  EXPECT_EQ(sweep_table(plan, 8, tally, rate).find("weighed"), std::string::npos);
  EXPECT_FALSE(sweep_json(plan, 8, tally, rate).contains("weights"));
  plan.weights = {WeighedBy::program, {1.5, 0.5}, ""};
  EXPECT_NE(sweep_table(plan, 8, tally, rate).find("\n2 instances, weighed as the program launched them, 1.5 : 0.5\nas recorded"),
            std::string::npos);
  EXPECT_EQ(sweep_json(plan, 8, tally, rate)["weights"], Json({{"by", "program"}, {"of", {1.5, 0.5}}}));
}

TEST_F(SweepReport, TheJsonHasTheSame) {
  const Json json = sweep_json(plan, 8, tally, rate);
  EXPECT_EQ(json["best"][0]["values"], Json({{"block.x", 128}, {"passes", "default<O3>"}}));
  EXPECT_EQ(json["best"][0]["configuration"]["block"]["x"], 128);
  EXPECT_EQ(json["failures"]["wrong_result"],
            Json({{"count", 2}, {"reason", "memory differs"}, {"values", {{"block.x", 256}, {"passes", "default<O3>"}}}}));
  EXPECT_EQ(json["rate"]["stages_ns"]["optimise"], 2e6);
  EXPECT_EQ(best_json(tally)["configuration"]["block"]["x"], 128);
  EXPECT_EQ(best_json(tally)["speed_up"], 2.0);
}

TEST_F(SweepReport, TheJsonHasEveryFigureInItsOwnPlace) {
  tally.add_baseline(baseline(kBaselineAtEnd, {12}));
  plan.device = DeviceKind::cuda;
  rate.seconds = 4;
  rate.seconds_before = 1.5;
  rate.devices = 2;
  rate.compile_workers = 5;
  rate.start.device_busy = std::chrono::seconds(3);
  rate.now.device_busy = std::chrono::seconds(7);  // 4 of 8
  rate.start.compile_busy = std::chrono::seconds(1);
  rate.now.compile_busy = std::chrono::seconds(6);  // 5 of 20
  rate.start.distinct_objects = 2;
  rate.now.distinct_objects = 11;
  rate.now.workers_replaced = 3;
  Json json = sweep_json(plan, 8, tally, rate);
  EXPECT_EQ(json["best"].size(), 2u);
  EXPECT_EQ(json["best"][0], Json({{"configuration", {{"block", {{"x", 128}}}, {"passes", "as-built"}}},
                                   {"digest", whole_digest(right(128, {}).configuration).hex()},
                                   {"time", 5000.0},
                                   {"speed_up", 2.2},
                                   {"reg_usage", 24},
                                   {"obj_size", 4096},
                                   {"verified", "to the byte"},
                                   {"alike", 1},
                                   {"values", {{"block.x", 128}, {"passes", "default<O3>"}}}}));
  json.erase("best");
  const Json expected = {
      {"total", 8},
      {"device", "cuda"},
      {"device_name", {}},
      {"done", 7},
      {"verified", 4},
      {"failed", 3},
      {"measured", 2},
      {"shared", 1},
      {"resumed", 1},
      {"failures",
       {{"wrong_result", {{"count", 2}, {"values", {{"block.x", 256}, {"passes", "default<O3>"}}}, {"reason", "memory differs"}}},
        {"invalid_launch",
         {{"count", 1}, {"values", {{"block.x", 384}, {"passes", "default<O3>"}}}, {"reason", "too many threads"}}}}},
      {"baseline",
       {{"configuration", {{"passes", "as-built"}}}, {"times", {10000.0, 12000.0}}, {"time", 11000.0}, {"problem", {}}}},
      {"rate",
       {{"seconds", 4.0},
        {"seconds_before", 1.5},
        {"measured_per_second", 0.5},
        {"done_per_second", 1.5},
        {"devices", 2},
        {"device_busy", 0.5},
        {"compile_workers", 5},
        {"compile_busy", 0.25},
        {"distinct_objects", 11},
        {"workers_replaced", 3},
        {"launches", 8},
        {"kernel_ns", 52000.0},
        {"stages_ns", {{"optimise", 2e6}}}}}};
  EXPECT_EQ(json, expected) << Json::diff(expected, json).dump(2);
  const Json best = best_json(tally);
  EXPECT_EQ(best, Json({{"configuration", {{"block", {{"x", 128}}}, {"passes", "as-built"}}},
                        {"result", to_json(right(128, {5, 5, 6}).details)},
                        {"time", 5000.0},
                        {"speed_up", 2.2},
                        {"interval", nullptr},
                        {"claim", "not confirmed"}}));
}

TEST_F(SweepReport, ABaselineThatChangedByMoreThanATwentiethIsTold) {
  for (const auto& [end, said] : {std::pair(10.4, false), std::pair(9.6, false), std::pair(10.6, true), std::pair(9.4, true)}) {
    SweepTally changing = tally;
    changing.add_baseline(baseline(kBaselineAtEnd, {end}));
    EXPECT_EQ(sweep_table(plan, 8, changing, rate).find("they differ by 6 %") != std::string::npos, said) << end;
  }
}

TEST_F(SweepReport, OneOfSeveralBaselinesThatDiffersIsEnough) {
  tally.add_baseline(baseline(kBaselineAtEnd, {10.1}));
  tally.add_baseline(baseline(kBaselineAtBegin, {10.6}));
  EXPECT_NE(sweep_table(plan, 8, tally, rate).find("they differ by 6 %"), std::string::npos);
}

TEST(SweepTally, TheBaselineIsTheMedianOfItsMeasurements) {
  SweepTally tally(1);
  EXPECT_FALSE(tally.baseline().has_value());
  for (double time : {10.0, 30.0, 11.0}) tally.add_baseline(baseline(kBaselineAtBegin, {time}));
  EXPECT_EQ(*tally.baseline(), Nanoseconds(11000));
  tally.add_baseline(baseline(kBaselineAtEnd, {13.0}));
  EXPECT_EQ(*tally.baseline(), Nanoseconds(12000));
  tally.add_baseline(failed(0, Failure::cancelled, "given up"));
  EXPECT_EQ(tally.baseline_problem(), "") << "that is no problem of its own";
  tally.add_baseline(failed(0, Failure::run_timeout, "the first"));
  tally.add_baseline(failed(0, Failure::wrong_result, "the second"));
  EXPECT_EQ(tally.baseline_problem(), "run_timeout: the first");
}

// What a sweep has launched is told with its rate.
TEST(SweepTally, LaunchesAreTheVerifiedTheWarmingAndTheTimed) {
  for (bool timed_too : {false, true})
    for (unsigned warm_up : {0u, 3u}) {
      PoolResult result = right(64, {2, 4, 3, 9, 3});
      result.configuration.execution.warm_up = warm_up;
      result.details.together.verified_run_timed = timed_too;
      SweepTally tally(1);
      tally.add(result, {});
      const uint64_t launches = (timed_too ? 0 : 1) + warm_up + 5;
      EXPECT_EQ(tally.counts().launches, launches) << warm_up;
      EXPECT_EQ(tally.counts().kernel_time, Nanoseconds(3000.0 * static_cast<double>(launches)));
    }
}

// Weights are of times that are compared, and not of what was launched here.
TEST(SweepTally, LaunchesTakeTheTimesOfEachInstance) {
  PoolResult several = right(64, {5});
  several.details.instances.resize(2);
  several.details.instances[0].result.exec_time = {Nanoseconds(1000)};
  several.details.instances[1].result.exec_time = {Nanoseconds(3000)};
  SweepTally tally(1);
  tally.add(several, {});
  EXPECT_EQ(tally.counts().kernel_time, Nanoseconds(4000.0 * static_cast<double>(tally.counts().launches)));
}

TEST(SweepTally, StagesOfAllInstancesAddUpAndFailuresTakeTimeToo) {
  PoolResult several = right(64, {5});
  several.details.instances.resize(2);
  several.details.instances[0].result.times = {{"run", Nanoseconds(10)}, {"session", Nanoseconds(1e9)}};
  several.details.instances[1].result.times = {{"run", Nanoseconds(20)}, {"verify", Nanoseconds(5)}};
  PoolResult wrong = failed(128, Failure::wrong_result, "memory differs");
  wrong.details.together.times = {{"run", Nanoseconds(3)}};
  SweepTally tally(1);
  tally.add(several, {});
  tally.add(wrong, {});
  for (Origin origin : {Origin::shared, Origin::resumed}) {
    PoolResult other = right(192, {5});
    other.origin = origin;
    tally.add(other, {});
  }
  EXPECT_EQ(tally.counts().stages, (std::map<std::string, double>{{"optimise", 1e6}, {"run", 33.0}, {"verify", 5.0}}));
  EXPECT_EQ(tally.counts().measured, 1u);
}

TEST(SweepRate, APartOfTheTimeIsOneAtMost) {
  SweepRate rate;
  rate.now.device_busy = rate.now.compile_busy = std::chrono::seconds(10);
  EXPECT_EQ(rate.device_busy(), 0) << "no time has passed";
  EXPECT_EQ(rate.compile_busy(), 0);
  EXPECT_EQ(rate.per_second(5), 0);
  rate.seconds = 4;
  EXPECT_EQ(rate.device_busy(), 1);
  EXPECT_EQ(rate.compile_busy(), 1);
  rate.devices = 5;
  rate.compile_workers = 10;
  EXPECT_EQ(rate.device_busy(), 0.5);
  EXPECT_EQ(rate.compile_busy(), 0.25);
}

TEST_F(SweepReport, WhatIsLeftIsToldByWhatThisRunHasDone) {
  rate.seconds = 6;  // six of seven: one is of an earlier run
  EXPECT_NE(sweep_line(17, tally, rate).find(", 10 s left"), std::string::npos) << sweep_line(17, tally, rate);
  EXPECT_EQ(sweep_line(7, tally, rate).find("left"), std::string::npos);
  SweepTally resumed(1);
  PoolResult known = right(64, {5});
  known.origin = Origin::resumed;
  resumed.add(known, {});
  EXPECT_EQ(sweep_line(7, resumed, rate).find("left"), std::string::npos) << "nothing is known of how long one takes";
}

TEST(SweepFormats, AreInWords) {
  EXPECT_EQ(format_time(Nanoseconds(999.4)), "999 ns");
  EXPECT_EQ(format_time(Nanoseconds(1000)), "1.00 us");
  EXPECT_EQ(format_time(Nanoseconds(1e6)), "1.00 ms");
  EXPECT_EQ(format_time(Nanoseconds(1e9)), "1.00 s");
  EXPECT_EQ(format_duration(1), "1.0 s");
  EXPECT_EQ(format_duration(10), "10 s");
  EXPECT_EQ(format_duration(119), "119 s");
  EXPECT_EQ(format_duration(120), "2 min");
  EXPECT_EQ(format_duration(7199), "119 min");
  EXPECT_EQ(format_duration(7200), "2 h 0 min");
  EXPECT_EQ(format_time(Nanoseconds(912)), "912 ns");
  EXPECT_EQ(format_time(Nanoseconds(999.7)), "1.00 us");
  EXPECT_EQ(format_time(Nanoseconds(12'310)), "12.31 us");
  EXPECT_EQ(format_time(Nanoseconds(1.2e6)), "1.20 ms");
  EXPECT_EQ(format_time(Nanoseconds(3.41e9)), "3.41 s");
  EXPECT_EQ(format_duration(0.042), "42 ms");
  EXPECT_EQ(format_duration(4.26), "4.3 s");
  EXPECT_EQ(format_duration(90), "90 s");
  EXPECT_EQ(format_duration(720), "12 min");
  EXPECT_EQ(format_duration(11'100), "3 h 5 min");
  EXPECT_EQ(format_point({{"block.x", {}}, {"grid.x", {}}}, {64, nullptr}), "block.x=64 grid.x=-");
  EXPECT_EQ(format_point({{"passes", {}}}, {"sroa,\nearly-cse"}), "passes=sroa, early-cse");
  EXPECT_EQ(format_point({{"ir", {}}}, {"abcd\xC3\xA9.ll"}, 8), "ir=abcd\xC3\xA9.ll")
      << "eight characters, of which one has two bytes";
  EXPECT_EQ(format_point({{"ir", {}}}, {"abcd\xC3\xA9.ll"}, 7), "ir=abcd...");
  EXPECT_EQ(format_point({{"ir", {}}}, {"\x1b[2J"}, 40), "ir=\\x1b[2J");
}

TEST(SweepResults, OfSeveralInstancesAreReadFromTheFirst) {
  PoolResult result = right(64, {5});
  result.details.instances.resize(2);
  result.details.instances[0].result.reg_usage = 12;
  result.details.instances[0].result.device = "a device";
  result.details.instances[1].result.reg_usage = 13;
  SweepTally tally(1);
  tally.add(result, {});
  const Json json = sweep_json({}, 1, tally, {});
  EXPECT_EQ(json["best"][0]["reg_usage"], 12);
  EXPECT_EQ(json["best"][0]["obj_size"], nullptr);
  EXPECT_EQ(json["device_name"], "a device");
}

TEST(SweepResults, AreEqualToTheByteWhereEachInstanceIs) {
  const auto instance = [](double worst) {
    InstanceResult made;
    made.result.tolerances.emplace_back().differences.worst = worst;
    return made;
  };
  for (const auto& [first, second, said] : {std::tuple(0.0, 0.0, "to the byte"), std::tuple(0.0, 1e-6, "within tolerance"),
                                            std::tuple(1e-6, 0.0, "within tolerance")}) {
    PoolResult result = right(64, {5});
    result.details.instances = {instance(first), instance(second)};
    SweepTally tally(1);
    tally.add(result, {});
    EXPECT_EQ(sweep_json({}, 1, tally, {})["best"][0]["verified"], said);
  }
}

}  // namespace
}  // namespace mneme::cli
