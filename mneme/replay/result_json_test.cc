// The codec of results: every member goes through it, what is no result is refused by its key, and what older versions wrote is
// read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "mneme/base/testing/each_member.h"
#include "mneme/replay/result.h"

namespace mneme {
namespace {

using Json = nlohmann::json;
using testing_members::change;
using testing_members::SeeMember;

ToleranceVerdict verdict_within(double threshold, Norm norm) {
  const Tolerance tolerance{ElementType::f32, threshold, ErrorKind::relative, norm, NanPolicy::any};
  return {"argument 'out'", DevicePtr(0x7a0000000000), Bytes(80), tolerance, {false, 10, 4, 2, 7.5, 3, 1.5, 30.5}};
}

// Each member alone, under the name that it has in JSON.
void change_each(ReplayResult& value, const SeeMember& see) {
  auto& [stage, verified, executed, failure, mismatches, not_written, fewer_threads, order_dependences, tolerances, mask,
         masked_bytes, exec_time, verified_run_timed, clock_source, clock_remark, clocks, exclusive, occupancy, reg_usage,
         local_mem_usage, const_mem_usage, shared_mem_usage, obj_size, obj_hash, instructions, stack_frame, spill_store_bytes,
         spill_load_bytes, sgpr_usage, agpr_usage, vgpr_spills, sgpr_spills, waves_per_eu, warnings, assembler, cache,
         shared_with, times, session_times, shape, specialised, device, device_kind, recorded_time, pageable_pointers,
         recorded_on] = value;
  for (const ReplayStage other : {ReplayStage::compiling, ReplayStage::compiled, ReplayStage::loading, ReplayStage::masking,
                                  ReplayStage::running, ReplayStage::done})
    change(stage, other, "stage", see);
  change(verified, true, "verified", see);
  change(executed, true, "executed", see);
  for (int code = 1; code <= static_cast<int>(Code::internal); ++code)
    change(failure, Status(static_cast<Code>(code), "what: why"), "error", see);
  change(mismatches, {{"global table", DevicePtr(0x1000), Bytes(64), 12, 16, {}, true, "global table"}}, "mismatches", see);
  change(mismatches, {{"out", DevicePtr(0x1000), Bytes(64), 12, 16, verdict_within(0.5, Norm::none), false, ""}}, "mismatches",
         see);
  change(not_written, std::vector<NotWritten>{}, "not_written", see);
  change(not_written, std::vector<NotWritten>{{"argument 'out'", ElementType::f64, 512, 100, 7, 3}, {"raw", {}, 64, 8, 9, 0}},
         "not_written", see);
  change(fewer_threads, {{'z', 1, 1ull << 40}}, "fewer_threads", see);
  change(order_dependences, {"reads a clock"}, "order_dependences", see);
  change(tolerances, {verdict_within(0.5, Norm::l2), verdict_within(0, Norm::none)}, "tolerances", see);
  change(mask, "the launch has no memory", "mask", see);
  change(masked_bytes, Bytes(1ull << 40), "masked_bytes", see);
  change(exec_time, {Nanoseconds(300.25), Nanoseconds(100)}, "exec_time", [&](const std::string& name) {
    see(name);
    change(verified_run_timed, true, "verified_run_timed", see);  // of a run that was timed
  });
  change(clock_source, "cupti_activity", "clock_source", see);
  change(clock_remark, "a remark", "clock_remark", see);
  change(clocks, ClockReport{1980, 1755, {"power cap"}}, "clocks", see);
  change(exclusive, true, "exclusive", see);
  change(occupancy, Occupancy{6, 0.75}, "occupancy", see);
  change(reg_usage, 40u, "reg_usage", see);
  change(local_mem_usage, Bytes(0), "local_mem_usage", see);
  change(const_mem_usage, Bytes(352), "const_mem_usage", see);
  change(shared_mem_usage, Bytes(1024), "shared_mem_usage", see);
  change(obj_size, Bytes(9000), "obj_size", see);
  change(obj_hash, digest_of(ByteVector(1)), "obj_hash", see);
  change(instructions, 123u, "instructions", see);
  change(stack_frame, Bytes(16), "stack_frame", see);
  change(spill_store_bytes, Bytes(48), "spill_store_bytes", see);
  change(spill_load_bytes, Bytes(96), "spill_load_bytes", see);
  change(sgpr_usage, 7u, "sgpr_usage", see);
  change(agpr_usage, 7u, "agpr_usage", see);
  change(vgpr_spills, 7u, "vgpr_spills", see);
  change(sgpr_spills, 7u, "sgpr_spills", see);
  change(waves_per_eu, 7u, "waves_per_eu", see);
  change(warnings, {"a warning", ""}, "warnings", see);
  change(assembler, "ptxas", "assembler", see);
  for (const CacheUse use : {CacheUse::miss, CacheUse::same_code, CacheUse::hit}) change(cache, use, "cache", see);
  change(shared_with, digest_of(ByteVector(2)), "shared_with", see);
  change(times, {{"codegen", Nanoseconds(11)}, {"run", Nanoseconds(0.5)}}, "times", see);
  change(session_times, {{"device", Nanoseconds(11)}, {"read", Nanoseconds(0.5)}}, "session_times", see);
  change(shape, LaunchShape{{7, 8, 9}, {10, 11, 12}, Bytes(256), false}, "grid", see);
  change(shape, LaunchShape{{7, 1, 1}, {10, 1, 1}, Bytes(), true}, "cooperative", see);
  change(shape, LaunchShape{{8, 1, 1}, {10, 1, 1}, Bytes(), false, {2, 1, 1}}, "cluster", see);
  SpecialisationReport report{{"n"}, LaunchDimensions{{1, 2, 3}, {4, 5, 6}}, {}, {{"out", 256}}, {"in"}, {{"out", "why"}}, {}};
  change(specialised, report, "specialised", see);
  report = {};
  report.ranges = LaunchDimensions{{1, 2, 3}, {4, 5, 6}};
  report.bounds = {256, 2, 4, 64, 8};
  change(specialised, report, "specialised", see);
  change(device, "a device", "device", see);
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) change(device_kind, kind, "device_kind", see);
  change(recorded_time, RecordedTime{"cuda_event", 400.0, 3, 200.0, 300.0}, "recorded_time", see);
  change(recorded_time, RecordedTime{"cuda_event", {}, 0, 0, 0}, "recorded_time", see);
  change(pageable_pointers, "memory", "pageable_pointers", see);
  change(recorded_on, "cuda", "recorded_on", see);
}

TEST(ResultJson, EveryMemberIsWrittenAndRead) {
  ReplayResult result;
  const Json usual = to_json(result), usual_brief = to_brief_json(result);
  change_each(result, [&](const std::string& name) {
    const Json whole = to_json(result), brief = to_brief_json(result);
    EXPECT_TRUE(whole.contains(name)) << name;
    EXPECT_NE(whole[name], usual[name]) << name << " is not written";
    EXPECT_EQ(brief.at(name), whole[name]) << name;
    for (const Json& json : {whole, brief}) {
      const auto read = replay_result_from_json(json);
      ASSERT_TRUE(read.ok()) << name << ": " << read.status().to_string();
      EXPECT_EQ(to_json(*read), whole) << name << " is not read: " << Json::diff(whole, to_json(*read)).dump(2);
    }
  });
  EXPECT_EQ(to_json(result), usual);
}

TEST(ResultJson, AShortOneHasNeitherNullsNorEmptyLists) {
  const Json brief = to_brief_json(ReplayResult());
  EXPECT_EQ(brief, (Json{{"stage", "preparing"},
                         {"verified", false},
                         {"executed", false},
                         {"failed", false},
                         {"masked_bytes", 0},
                         {"exec_time", Json::array()},
                         {"verified_run_timed", false},
                         {"exclusive", false}}));
}

TEST(ResultJson, WhatIsNotFiniteIsText) {
  ReplayResult result;
  result.tolerances = {verdict_within(0.5, Norm::l2)};
  result.tolerances[0].differences.worst = std::numeric_limits<double>::infinity();
  result.tolerances[0].differences.recorded_norm = std::numeric_limits<double>::quiet_NaN();
  result.occupancy = Occupancy{1, std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0)};  // as of inf/inf on x86
  const Json json = to_json(result);
  EXPECT_EQ(json["tolerances"][0]["worst_error"], "inf");
  EXPECT_EQ(json["occupancy"]["warps"], "nan");
  const auto read = replay_result_from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read), json);
}

TEST(ResultJson, StatisticsAndTheRatioFollowFromTheTimes) {
  ReplayResult result;
  result.exec_time = {Nanoseconds(100), Nanoseconds(300), Nanoseconds(200)};
  result.recorded_time = RecordedTime{"cuda_event", 400.0, 0, 0, 0};
  Json json = to_json(result);
  json["exec_time_stats"]["median"] = 7;
  json["recorded_time"]["ratio"] = 7;
  const auto read = replay_result_from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read)["exec_time_stats"]["median"], 200);
  EXPECT_EQ(to_json(*read)["recorded_time"]["ratio"], 0.5);
}

// Before a result said how far it came, and what is masked was poison.
TEST(ResultJson, WhatOlderVersionsWroteIsRead) {
  const auto read = replay_result_from_json({{"verified", true},
                                             {"executed", true},
                                             {"failed", false},
                                             {"poison", "on"},
                                             {"poisoned_bytes", 4096},
                                             {"exec_time", {100, 200.5}},
                                             {"times", {{"poison", 5.0}, {"run", 7}}}});
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->stage, ReplayStage::done);
  EXPECT_EQ(read->mask, "on");
  EXPECT_EQ(read->masked_bytes, Bytes(4096));
  EXPECT_EQ(read->exec_time, (std::vector{Nanoseconds(100), Nanoseconds(200.5)}));
  EXPECT_EQ(to_json(*read)["times"], (Json{{"mask", 5.0}, {"run", 7.0}}));
  const auto failed = replay_result_from_json({{"executed", false}, {"failed", true}, {"error", "device_fault: poison: why"}});
  ASSERT_TRUE(failed.ok()) << failed.status().to_string();
  EXPECT_EQ(failed->stage, ReplayStage::running);
  EXPECT_EQ(failed->failure.to_string(), "device_fault: poison: why");
  EXPECT_EQ(replay_result_from_json({{"failed", true}, {"error", "words"}})->failure.to_string(), "internal: words");
  EXPECT_TRUE(replay_result_from_json({{"what_a_later_one_adds", {1, 2}}}).ok());
}

std::string refusal(const Json& json) { return replay_result_from_json(json).status().to_string(); }

TEST(ResultJson, WhatIsNoneIsRefusedByItsKey) {
  EXPECT_EQ(refusal(Json::array()), "corrupt: a result: it must be an object, not []");
  const std::pair<Json, const char*> kWrong[] = {
      {{{"verified", 1}}, "'verified' must be true or false, not 1"},
      {{{"stage", "sleeping"}},
       "'stage' must be one of preparing, compiling, compiled, loading, masking, running, done, not \"sleeping\""},
      {{{"cache", 3}}, "'cache' must be one of miss, same_code, hit, not 3"},
      {{{"exec_time", 100}}, "'exec_time' must be a list, not 100"},
      {{{"exec_time", {"long"}}}, "'exec_time' must be a number, not \"long\""},
      {{{"times", {1, 2}}}, "'times' must be an object, not [1,2]"},
      {{{"times", {{"run", "long"}}}}, "'times' must be a number, not \"long\""},
      {{{"reg_usage", -1}}, "'reg_usage' must be a whole number from 0 to 4294967295, not -1"},
      {{{"reg_usage", 4294967296u}}, "'reg_usage' must be a whole number from 0 to 4294967295, not 4294967296"},
      {{{"obj_size", 1.5}}, "'obj_size' must be a whole number from 0 to 18446744073709551615, not 1.5"},
      {{{"obj_hash", "0x12"}}, "'obj_hash' must be a digest, not \"0x12\""},
      {{{"obj_hash", 12}}, "'obj_hash' must be a digest, not 12"},
      {{{"device", {{"name", "x"}}}}, "'device' must be a string, not {\"name\":\"x\"}"},
      {{{"device_kind", "abacus"}}, "'device_kind' must be a kind of device, not \"abacus\""},
      {{{"grid", 7}}, "'grid' must be an object, not 7"},
      {{{"grid", {{"x", "7"}}}}, "'grid.x' must be a whole number from 0 to 4294967295, not \"7\""},
      {{{"clocks", {{"sm_mhz", {1}}}}}, "'clocks.sm_mhz' must be a list of two, not [1]"},
      {{{"fewer_threads", {{{"axis", "xy"}}}}}, "'fewer_threads.axis' must be x, y or z, not \"xy\""},
      {{{"fewer_threads", {{{"axis", "w"}}}}}, "'fewer_threads.axis' must be x, y or z, not \"w\""},
      {{{"mismatches", {{{"address", "1000"}}}}}, "'mismatches.address' must be an address, not \"1000\""},
      {{{"not_written", {{{"type", "float"}}}}}, "'not_written.type' must be a type of elements, not \"float\""},
      {{{"tolerances", {{{"tolerance", "f32"}}}}}, "'tolerances.tolerance' must be a tolerance, not \"f32\""},
      {{{"tolerances", {{{"worst_error", "large"}}}}}, "'tolerances.worst_error' must be a number, not \"large\""},
      {{{"recorded_time", {{"others", {{"launches", -1}}}}}},
       "'recorded_time.others.launches' must be a whole number from 0 to 18446744073709551615, not -1"},
      {{{"specialised", {{"alignment", {{"out", "8"}}}}}},
       "'specialised.alignment' must be a whole number from 0 to 18446744073709551615, not \"8\""},
  };
  for (const auto& [json, words] : kWrong) EXPECT_EQ(refusal(json), std::string("corrupt: a result: ") + words);
  const std::string long_one = refusal({{"verified", std::string(1000, 'x')}});
  EXPECT_LT(long_one.size(), 200u) << "a message, and not all of a file";
}

TEST(ResultJson, NothingIsComparedToALaunchThatTookNoTime) {
  ReplayResult result;
  result.exec_time = {Nanoseconds(5)};
  result.recorded_time.emplace().captured = 2;
  EXPECT_EQ(to_json(result)["recorded_time"]["ratio"], 2.5);
  result.recorded_time->captured = 0;
  EXPECT_TRUE(to_json(result)["recorded_time"]["ratio"].is_null());
}

}  // namespace
}  // namespace mneme
