#include "mneme/cli/sweep_report.h"

#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

using Json = nlohmann::json;

// A right result of these times in microseconds.
PoolResult right(uint32_t block, std::vector<double> times) {
  PoolResult result;
  result.configuration.block.x = block;
  for (double& time : times) time *= 1000;
  result.details = {
      {"exec_time", times}, {"reg_usage", 24}, {"obj_size", 4096}, {"times", {{"optimise", 1e6}, {"session", 1e9}}}};
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
  EXPECT_EQ(
      sweep_table(plan, 8, tally, rate),
      "RANK  block.x  passes       TIME     SPEED-UP      REGISTERS  OBJECT    VERIFIED     ALIKE\n"
      "1     128      default<O3>  5.00 us  2.00 to 2.40  24         4.00 KiB  to the byte  1\n"
      "2     64       default<O3>  8.00 us  1.25 to 1.50  24         4.00 KiB  to the byte  0\n"
      "\n"
      "as recorded (default<O3>): 10.00 us and 12.00 us at the begin and the end; they differ by 20 %, and so may the others: "
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
  EXPECT_NE(sweep_table(plan, 8, tally, rate).find("\nas recorded (default<O3>): 10.00 us and 10.40 us\n"), std::string::npos);
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

TEST(SweepFormats, AreInWords) {
  EXPECT_EQ(format_time(Nanoseconds(912)), "912 ns");
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
  const Json details = {{"verified", true}, {"instances", {{{"record_id", "00"}, {"result", {{"reg_usage", 12}}}}}}};
  EXPECT_EQ(detail(details, "reg_usage"), 12);
  EXPECT_EQ(detail(details, "verified"), true);
  EXPECT_EQ(detail(details, "obj_size"), nullptr);
}

TEST(SweepResults, AreEqualToTheByteWhereEachInstanceIs) {
  const auto instance = [](double worst) {
    return Json{{"record_id", "00"}, {"result", {{"tolerances", {{{"worst_error", worst}}}}}}};
  };
  for (const auto& [first, second, said] : {std::tuple(0.0, 0.0, "to the byte"), std::tuple(0.0, 1e-6, "within tolerance"),
                                            std::tuple(1e-6, 0.0, "within tolerance")}) {
    PoolResult result = right(64, {5});
    result.details["instances"] = {instance(first), instance(second)};
    SweepTally tally(1);
    tally.add(result, {});
    EXPECT_EQ(sweep_json({}, 1, tally, {})["best"][0]["verified"], said);
  }
}

}  // namespace
}  // namespace mneme::cli
