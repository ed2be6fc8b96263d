#include "mneme/replay/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "mneme/replay/determinism.h"
#include "mneme/replay/races.h"
#include "mneme/verify/difference.h"

namespace mneme {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Every member other than every other one, so that none can stand in another's place.
ReplayResult everything() {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.executed = true;
  const Tolerance each{ElementType::f64, 3, ErrorKind::ulp, Norm::none, NanPolicy::recorded};
  const Tolerance norm{ElementType::f32, 0.5, ErrorKind::relative, Norm::l2, NanPolicy::recorded};
  const ToleranceVerdict not_within{"argument 'out'", DevicePtr(0x1000), Bytes(80), each, {false, 10, 4, 2, 7.5, 3, 0.0, 0.0}};
  const ToleranceVerdict within{"global table", DevicePtr(0x2000), Bytes(40), norm, {true, 11, 0, {}, 0.25, {}, 1.5, 30.5}};
  result.mismatches = {{"allocation 0x1000", DevicePtr(0x1000), Bytes(4096), 12, 16, not_within, false, "argument 'out'"},
                       {"allocation 0x9000", DevicePtr(0x9000), Bytes(64), 5, 6, {}, true, ""}};
  result.not_written = {{"argument 'out'", ElementType::f64, 512, 100, 7, 3}, {"argument 'raw'", {}, 64, 8, 9, 0}};
  result.order_dependences = {"reads a clock"};
  result.tolerances = {not_within, within};
  result.mask = "on";
  result.masked_bytes = Bytes(2048);
  result.exec_time = {Nanoseconds(300), Nanoseconds(100), Nanoseconds(160), Nanoseconds(140)};
  result.verified_run_timed = true;
  result.clock_source = "cupti_activity";
  result.clock_remark = "a remark";
  result.clocks = {1980, 1755, {"power cap"}};
  result.occupancy = {6, 0.75};
  result.exclusive = true;
  result.reg_usage = 40;
  result.local_mem_usage = Bytes(24);
  result.const_mem_usage = Bytes(352);
  result.shared_mem_usage = Bytes(1024);
  result.obj_size = Bytes(9000);
  result.obj_hash = digest_of(ByteVector(1));
  result.instructions = 123;
  result.stack_frame = Bytes(16);
  result.spill_store_bytes = Bytes(48);
  result.spill_load_bytes = Bytes(96);
  result.sgpr_usage = 32;
  result.agpr_usage = 8;
  result.vgpr_spills = 3;
  result.sgpr_spills = 2;
  result.waves_per_eu = 6;
  result.assembler = "nvptxcompiler 12.8";
  result.warnings = {"a warning"};
  result.cache = CacheUse::same_code;
  result.shared_with = digest_of(ByteVector(2));
  result.times = {{"codegen", Nanoseconds(11)}, {"load", Nanoseconds(12)}, {"run", Nanoseconds(13)}};
  result.session_times = {{"read", Nanoseconds(14)}, {"upload", Nanoseconds(15)}};
  result.shape = {{7, 8, 9}, {10, 11, 12}, Bytes(256), false};
  result.fewer_threads = {{'x', 70, 140}, {'z', 108, 216}};
  result.specialised = report_of({{}, {"n"}, {{0, "why"}}});
  result.device = "a device";
  result.device_kind = DeviceKind::cuda;
  result.recorded_time = {"cuda_event", 400.0, 3, 200.0, 300.0};
  result.pageable_pointers = "memory";
  result.recorded_on = "cpu";
  return result;
}

Json not_within() {
  return {{"where", "argument 'out'"}, {"address", "0x1000"}, {"size", 80},   {"tolerance", "f64, 3, ulp"},
          {"within", false},           {"elements", 10},      {"failing", 4}, {"first_failing", 2},
          {"worst_error", 7.5},        {"worst_index", 3}};
}

Json everything_json() {
  return {{"stage", "done"},
          {"verified", false},
          {"executed", true},
          {"failed", false},
          {"error", {}},
          {"mismatches",
           {{{"where", "allocation 0x1000"},
             {"address", "0x1000"},
             {"size", 4096},
             {"buffer", "argument 'out'"},
             {"differing_bytes", 12},
             {"first_offset", 16},
             {"outside", false},
             {"tolerance", not_within()}},
            {{"where", "allocation 0x9000"},
             {"address", "0x9000"},
             {"size", 64},
             {"buffer", {}},
             {"differing_bytes", 5},
             {"first_offset", 6},
             {"outside", true}}}},
          {"not_written",
           {{{"where", "argument 'out'"}, {"type", "f64"}, {"elements", 512}, {"not_written", 100}, {"first", 7}, {"wrong", 3}},
            {{"where", "argument 'raw'"}, {"type", {}}, {"elements", 64}, {"not_written", 8}, {"first", 9}, {"wrong", 0}}}},
          {"fewer_threads",
           {{{"axis", "x"}, {"threads", 70}, {"recorded", 140}}, {{"axis", "z"}, {"threads", 108}, {"recorded", 216}}}},
          {"order_dependences", {"reads a clock"}},
          {"tolerances",
           {not_within(),
            {{"where", "global table"},
             {"address", "0x2000"},
             {"size", 40},
             {"tolerance", "f32, 0.5, relative, L2"},
             {"within", true},
             {"elements", 11},
             {"failing", 0},
             {"first_failing", {}},
             {"worst_error", 0.25},
             {"worst_index", {}},
             {"difference_norm", 1.5},
             {"recorded_norm", 30.5}}}},
          {"mask", "on"},
          {"masked_bytes", 2048},
          {"exec_time", {300.0, 100.0, 160.0, 140.0}},
          {"verified_run_timed", true},
          {"clock_source", "cupti_activity"},
          {"clock_remark", "a remark"},
          {"clocks", {{"sm_mhz", {1980, 1755}}, {"throttled", {"power cap"}}}},
          {"exclusive", true},
          {"occupancy", {{"active_blocks", 6}, {"warps", 0.75}}},
          {"reg_usage", 40},
          {"local_mem_usage", 24},
          {"const_mem_usage", 352},
          {"shared_mem_usage", 1024},
          {"obj_size", 9000},
          {"obj_hash", digest_of(ByteVector(1)).hex()},
          {"instructions", 123},
          {"stack_frame", 16},
          {"spill_store_bytes", 48},
          {"spill_load_bytes", 96},
          {"sgpr_usage", 32},
          {"agpr_usage", 8},
          {"vgpr_spills", 3},
          {"sgpr_spills", 2},
          {"waves_per_eu", 6},
          {"warnings", {"a warning"}},
          {"assembler", "nvptxcompiler 12.8"},
          {"cache", "same_code"},
          {"shared_with", digest_of(ByteVector(2)).hex()},
          {"times", {{"codegen", 11.0}, {"load", 12.0}, {"run", 13.0}}},
          {"session_times", {{"read", 14.0}, {"upload", 15.0}}},
          {"grid", {{"x", 7}, {"y", 8}, {"z", 9}}},
          {"block", {{"x", 10}, {"y", 11}, {"z", 12}}},
          {"dynamic_shared_memory", 256},
          {"cooperative", {}},
          {"cluster", {}},
          {"specialised", {{"may_alias", {{"n", "why"}}}}},
          {"device", "a device"},
          {"device_kind", "cuda"},
          {"recorded_time",
           {{"clock_source", "cuda_event"},
            {"captured", 400.0},
            {"others", {{"launches", 3}, {"min", 200.0}, {"median", 300.0}}},
            {"ratio", 0.5}}},
          {"pageable_pointers", "memory"},
          {"recorded_on", "cpu"}};
}

TEST(ReplayResult, EveryMemberIsInItsOwnPlace) {
  Json json = to_json(everything());
  const Json statistics = json["exec_time_stats"];
  json.erase("exec_time_stats");
  EXPECT_EQ(json, everything_json()) << Json::diff(everything_json(), json).dump(2);
  EXPECT_EQ(statistics["count"], 4);
  EXPECT_EQ(statistics["min"], 100);
  EXPECT_EQ(statistics["median"], 150);
  EXPECT_EQ(statistics["mean"], 175);
  // Of a sample: squares of 125, -75, -15 and -35, over three.
  EXPECT_NEAR(statistics["standard_deviation"].get<double>(), 86.9866, 1e-3);
  EXPECT_NEAR(statistics["relative_error"].get<double>(), 86.9866 / 2 / 175, 1e-5);
}

TEST(ReplayResult, WhatIsNotKnownIsNull) {
  const Json json = to_json(ReplayResult());
  for (const char* key :
       {"error",      "not_written", "mask",         "exec_time_stats", "clock_source",          "clock_remark",
        "clocks",     "occupancy",   "reg_usage",    "local_mem_usage", "const_mem_usage",       "shared_mem_usage",
        "obj_size",   "obj_hash",    "instructions", "stack_frame",     "spill_store_bytes",     "spill_load_bytes",
        "sgpr_usage", "agpr_usage",  "vgpr_spills",  "sgpr_spills",     "waves_per_eu",          "assembler",
        "cache",      "shared_with", "grid",         "block",           "dynamic_shared_memory", "cooperative",
        "cluster",    "specialised", "device",       "device_kind",     "recorded_time",         "recorded_on"})
    EXPECT_TRUE(json.contains(key) && json[key].is_null()) << key;
  EXPECT_TRUE(json.contains("pageable_pointers") && json["pageable_pointers"].is_null());
  for (const char* key : {"verified", "executed", "failed", "verified_run_timed", "exclusive"})
    EXPECT_EQ(json[key], false) << key;
  for (const char* key : {"mismatches", "fewer_threads", "order_dependences", "tolerances", "exec_time", "warnings"})
    EXPECT_EQ(json[key], Json::array()) << key;
  for (const char* key : {"times", "session_times"}) EXPECT_EQ(json[key], Json::object()) << key;
}

TEST(ReplayResult, OneMemberStandsInForAnother) {
  ReplayResult result = everything();
  result.exec_time.clear();
  EXPECT_EQ(to_json(result)["verified_run_timed"], false) << "no run was timed";
  EXPECT_TRUE(to_json(result)["recorded_time"]["ratio"].is_null());
  result.failure = error(Code::device_fault, "trap");
  EXPECT_EQ(to_json(result)["error"], "device_fault: trap");
  EXPECT_EQ(to_json(result)["failed"], true);
  const std::pair<CacheUse, Json> kUses[] = {
      {CacheUse::off, {}}, {CacheUse::miss, "miss"}, {CacheUse::same_code, "same_code"}, {CacheUse::hit, "hit"}};
  for (const auto& [use, name] : kUses) {
    result.cache = use;
    EXPECT_EQ(to_json(result)["cache"], name);
  }
  result.tolerances[1].differences.worst = result.tolerances[1].differences.difference_norm = kInfinite;
  EXPECT_EQ(to_json(result)["tolerances"][1]["worst_error"], "inf");
  EXPECT_EQ(to_json(result)["tolerances"][1]["difference_norm"], "inf");
}

TEST(ReplayResult, WhatIsKnownOfCodeIsPutInItsMembers) {
  CompiledCode code;
  code.image.bytes.resize(9000);
  code.digest = digest_of(ByteVector(1));
  code.facts = {123, 41, Bytes(16), Bytes(48), Bytes(96), Bytes(1040)};
  code.assembler = "ptxas";
  code.warnings = {"a warning"};
  code.cache = CacheUse::miss;
  code.times = {{"codegen", Nanoseconds(11)}};
  ReplayResult result;
  result.times = {{"session", Nanoseconds(1)}};
  result.put(code);
  EXPECT_EQ(result.obj_size, Bytes(9000));
  EXPECT_EQ(result.obj_hash, code.digest);
  EXPECT_EQ(result.instructions, 123u);
  EXPECT_EQ(result.reg_usage, 41u);
  EXPECT_EQ(result.stack_frame, Bytes(16));
  EXPECT_EQ(result.spill_store_bytes, Bytes(48));
  EXPECT_EQ(result.spill_load_bytes, Bytes(96));
  EXPECT_EQ(result.assembler, "ptxas");
  EXPECT_EQ(result.warnings, code.warnings);
  EXPECT_EQ(result.cache, CacheUse::miss);
  EXPECT_EQ(result.times.size(), 2u);
  result.put(KernelResources{{}, Bytes(24), Bytes(352), Bytes(1024), 512});
  EXPECT_EQ(result.reg_usage, 41u) << "the driver does not tell it: the assembler's";
  EXPECT_EQ(result.local_mem_usage, Bytes(24));
  EXPECT_EQ(result.const_mem_usage, Bytes(352));
  EXPECT_EQ(result.shared_mem_usage, Bytes(1024));
  result.put(KernelResources{.registers = 40});
  EXPECT_EQ(result.reg_usage, 40u);
}

TEST(ReplayResult, CompilingIsEveryStageInWhichCodeIsMade) {
  ReplayResult result;
  EXPECT_EQ(compile_time(result), Nanoseconds(0));
  double all = 0;
  for (const std::string_view stage : kCompileStages) result.times.push_back({std::string(stage), Nanoseconds(all += 10)});
  for (const char* other : {"session", "load", "wait", "mask", "run", "timed_runs"})
    result.times.push_back({other, Nanoseconds(1000)});
  EXPECT_EQ(compile_time(result), Nanoseconds(360));
}

TEST(ReplayResult, FewerThreadsAreOfEachDirection) {
  const LaunchShape recorded{{2, 3, 4}, {32, 8, 2}, {}, false};
  const std::pair<Dim3, const char*> kGrids[] = {
      {{2, 3, 4}, ""}, {{3, 3, 4}, ""}, {{1, 3, 4}, "x: 32 of 64"}, {{2, 2, 4}, "y: 16 of 24"}, {{2, 3, 3}, "z: 6 of 8"}};
  for (const auto& [grid, expected] : kGrids) {
    std::string found;
    for (const FewerThreads& f : fewer_threads({grid, {32, 8, 2}, {}, false}, recorded))
      found += fmt::format("{}: {} of {}", f.axis, f.threads, f.recorded);
    EXPECT_EQ(found, expected);
  }
}

TEST(ReplayResult, WhatIsWrongIsSaidWhole) {
  const std::string differs = "memory differs in 2 places, first argument 'out' (12 bytes, from offset 16 on)";
  const std::string out = "100 of 512 f64 of argument 'out' were not written",
                    raw = "8 of 64 bytes of argument 'raw' were not written";
  const std::string behind =
      " (70 of 140 threads in x, 108 of 216 threads in z: --keep-threads keeps them); the kernel reads a "
      "clock: mneme check tells whether it is deterministic; its memory holds addresses of host memory that was not recorded "
      "(of malloc, the stack or mmap), which may be why";
  ReplayResult result = everything();
  EXPECT_EQ(describe_wrong(result), out + "; " + raw + "; " + differs + behind) << "three of one were written, and differ";
  result.not_written->front().wrong = 0;
  EXPECT_EQ(describe_wrong(result), out + "; " + raw + behind);
  result.not_written->back().not_written = 0;
  EXPECT_EQ(describe_wrong(result), out + "; " + differs + behind) << "one explains one of two";
  result.not_written.reset();
  result.order_dependences.clear();
  result.fewer_threads.clear();
  result.pageable_pointers.clear();
  EXPECT_EQ(describe_wrong(result), differs);
  result.mismatches = {{"global table", DevicePtr(0x1000), Bytes(4), 1, 0, {}, false, ""}};
  EXPECT_EQ(describe_wrong(result), "memory differs in 1 place, first global table (1 byte, from offset 0 on)");
}

TEST(Behaviour, EveryMemberIsInItsOwnPlace) {
  Behaviour behaviour;
  behaviour.runs = 5;
  behaviour.seed = 9;
  behaviour.order_dependences = {{ir::OrderDependence::Kind::clock, 3, "a.cu:7"}, {ir::OrderDependence::Kind::exchange, 4, ""}};
  behaviour.races = {
      "", NoteOf::thread, true, {{{"argument 'out'", "out", 1, 2, Bytes(40), ElementType::f32}, 10, 6, 4, "both"}}};
  behaviour.program_code = {false, "the constants", 8, {11, 12, "ptxas 13.0.88", "-O 3"}, {13, {}, "", ""}};
  behaviour.not_compared = "why not";
  behaviour.deterministic = false;
  RangeBehaviour range;
  range.range = {"argument 'out'", "out", 1, 2, Bytes(40), ElementType::f32};
  range.unlike_recorded = 2;
  range.contents = 3;
  range.elements = 10;
  range.differing = 6;
  range.tolerance = Tolerance{ElementType::f32, 3, ErrorKind::ulp, Norm::none, NanPolicy::recorded};
  RangeBehaviour untyped;
  untyped.range = {"allocation 0x1000", "0x1000+8", 0, 0, Bytes(8), {}};
  untyped.no_tolerance = "why";
  behaviour.ranges = {range, untyped};
  Json json = to_json(behaviour);
  EXPECT_EQ(json["result"], to_json(behaviour.result));
  json.erase("result");
  const Json expected = {
      {"runs", 5},
      {"seed", 9},
      {"order_dependences",
       {{{"kind", "clock"}, {"places", 3}, {"first", "a.cu:7"}}, {{"kind", "exchange"}, {"places", 4}, {"first", {}}}}},
      {"races",
       {{"looked_for", true},
        {"not_looked", {}},
        {"between", "threads"},
        {"may_be_ordered", true},
        {"buffers",
         {{{"where", "argument 'out'"}, {"type", "f32"}, {"elements", 10}, {"racing", 6}, {"first", 4}, {"what", "both"}}}}}},
      {"program_code",
       {{"same", false},
        {"differs", {{"where", "the constants"}, {"offset", 8}}},
        {"program", {{"instructions", 11}, {"registers", 12}, {"assembler", "ptxas 13.0.88"}, {"options", "-O 3"}}},
        {"made", {{"instructions", 13}, {"registers", {}}, {"assembler", ""}, {"options", ""}}}}},
      {"not_compared", "why not"},
      {"deterministic", false},
      {"buffers",
       {{{"where", "argument 'out'"},
         {"buffer", "out"},
         {"size", 40},
         {"type", "f32"},
         {"unlike_recorded", 2},
         {"contents", 3},
         {"elements", 10},
         {"differing", 6},
         {"no_tolerance", {}},
         {"tolerance", "out: f32, 3, ulp"}},
        {{"where", "allocation 0x1000"},
         {"buffer", "0x1000+8"},
         {"size", 8},
         {"type", {}},
         {"unlike_recorded", 0},
         {"contents", 1},
         {"elements", 0},
         {"differing", 0},
         {"no_tolerance", "why"},
         {"tolerance", {}}}}}};
  EXPECT_EQ(json, expected) << Json::diff(expected, json).dump(2);
  EXPECT_EQ(tolerance_option(range), "--tolerance 'out: f32, 3, ulp'");
  EXPECT_EQ(tolerance_option(untyped), "");
}

TEST(RangeDifference, EveryMemberIsInItsOwnPlace) {
  const auto sample = [](uint64_t index, double of) {
    return ElementSample{index, fmt::format("r{}", index), fmt::format("a{}", index), {of, of + 1, of + 2, false}};
  };
  const auto shown = [](uint64_t index, double of) {
    return Json{{"index", index},
                {"recorded", fmt::format("r{}", index)},
                {"actual", fmt::format("a{}", index)},
                {"absolute", of},
                {"relative", of + 1},
                {"ulp", of + 2}};
  };
  RangeDifference difference;
  difference.range = {"argument 'out'", "out", 0, 16, Bytes(400), ElementType::f32};
  difference.address = DevicePtr(0x1010);
  difference.type = ElementType::f32;
  difference.elements = 100;
  difference.differing = 9;
  difference.not_written = 3;
  difference.first_not_written = 51;
  difference.unfit = 2;
  difference.from_zero = 1;
  difference.first = sample(4, 10);
  difference.worst_absolute = sample(5, 20);
  difference.worst_relative = sample(6, 30);
  difference.worst_ulp = sample(7, 40);
  difference.decades = {{-3, 2}, {0, 1}};
  const Json expected = {{"where", "argument 'out'"},
                         {"address", "0x1010"},
                         {"size", 400},
                         {"type", "f32"},
                         {"elements", 100},
                         {"differing", 9},
                         {"not_written", 3},
                         {"first_not_written", 51},
                         {"unfit", 2},
                         {"from_zero", 1},
                         {"first", shown(4, 10)},
                         {"worst_absolute", shown(5, 20)},
                         {"worst_relative", shown(6, 30)},
                         {"worst_ulp", shown(7, 40)},
                         {"relative_error_decades", {{"1e-3", 2}, {"1e0", 1}}}};
  EXPECT_EQ(to_json(difference), expected) << Json::diff(expected, to_json(difference)).dump(2);
  difference.first.error.relative = kInfinite;
  EXPECT_EQ(to_json(difference)["first"]["relative"], "inf");
  difference.not_written = 9;
  EXPECT_TRUE(to_json(difference)["first"].is_null()) << "all that differ were not written";
}

std::string pair_of(const Comers& comers) {
  const auto pair = race_in(comers);
  return pair ? fmt::format("{} {}, {} {}", pair->first, pair->first_does, pair->second, pair->second_does) : "none";
}

TEST(RaceIn, IsOfTwoOfWhichOneWrites) {
  EXPECT_EQ(pair_of({}), "none");
  EXPECT_EQ(pair_of({{3}, {3}, {3}}), "none") << "one alone";
  EXPECT_EQ(pair_of({{}, {3, 4}, {}}), "none") << "both read";
  EXPECT_EQ(pair_of({{}, {}, {3, 4}}), "none") << "both by atomic operations";
  EXPECT_EQ(pair_of({{3, 4}, {}, {}}), "3 writes, 4 writes");
  EXPECT_EQ(pair_of({{3}, {4}, {}}), "3 writes, 4 reads");
  EXPECT_EQ(pair_of({{3}, {3, 4}, {}}), "3 writes, 4 reads") << "who also reads it";
  EXPECT_EQ(pair_of({{3}, {}, {4}}), "3 writes, 4 accesses it by an atomic operation");
  EXPECT_EQ(pair_of({{}, {4}, {3}}), "3 changes it by an atomic operation, 4 reads");
  EXPECT_EQ(pair_of({{}, {4}, {4}}), "none");
}

TEST(ReplayResult, ThreadsAreCountedBeyondThirtyTwoBits) {
  const LaunchShape recorded{{1u << 26, 1, 1}, {128, 1, 1}}, half{{1u << 25, 1, 1}, {128, 1, 1}};
  EXPECT_EQ(fewer_threads(half, recorded), (std::vector<FewerThreads>{{'x', uint64_t{1} << 32, uint64_t{1} << 33}}));
}

}  // namespace
}  // namespace mneme
