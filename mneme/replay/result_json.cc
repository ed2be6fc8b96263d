// The codec of results: what a device worker tells, a log keeps, `mneme replay` prints and Python has.
#include <algorithm>
#include <array>

#include "mneme/measure/time_statistics.h"
#include "mneme/replay/result.h"
#include "mneme/replay/result_members.h"

namespace mneme {

using Json = nlohmann::json;

template <>
inline constexpr Form kFormOf<SpecialisationReport> = Form::brief;
template <>
inline constexpr Form kFormOf<LaunchDimensions> = Form::brief;
template <>
inline constexpr Form kFormOf<RecordedTime> = Form::brief;

namespace {

constexpr std::pair<const char*, ReplayStage> kStageNames[] = {{"preparing", ReplayStage::preparing},
                                                               {"compiling", ReplayStage::compiling},
                                                               {"compiled", ReplayStage::compiled},
                                                               {"loading", ReplayStage::loading},
                                                               {"masking", ReplayStage::masking},
                                                               {"running", ReplayStage::running},
                                                               {"done", ReplayStage::done}};
constexpr std::pair<const char*, CacheUse> kCacheUseNames[] = {
    {"miss", CacheUse::miss}, {"same_code", CacheUse::same_code}, {"hit", CacheUse::hit}};

// "device_fault: what happened", as Status::to_string() has it; what names no code is internal.
Status status_of(const std::string& text) {
  const size_t colon = text.find(": ");
  for (int code = static_cast<int>(Code::ok) + 1; colon != std::string::npos && code <= static_cast<int>(Code::internal); ++code)
    if (text.compare(0, colon, to_string(static_cast<Code>(code))) == 0)
      return Status(static_cast<Code>(code), text.substr(colon + 2));
  return Status(Code::internal, text);
}

Json statistics(const std::vector<Nanoseconds>& times) {
  const TimeStatistics s = statistics_of(times);
  if (s.count == 0) return {};
  return {{"count", s.count},
          {"min", s.min.count()},
          {"median", s.median.count()},
          {"mean", s.mean.count()},
          {"standard_deviation", s.standard_deviation.count()},
          {"relative_error", s.relative_error}};
}

// The median of the replay over the launch in the program.
Json ratio(const ReplayResult& result) {
  if (!result.recorded_time) return {};
  const double before = result.recorded_time->reference();
  const TimeStatistics now = statistics_of(result.exec_time);
  return now.count != 0 && before > 0 ? Json(now.median.count() / before) : Json();
}

}  // namespace

template <class Members, Of<ToleranceVerdict> T>
void list_members(Members& members, T& verdict) {
  members.member("where", verdict.where);
  members.member("address", verdict.address);
  members.member("size", verdict.size);
  members.member("tolerance", verdict.tolerance);
  members.member("within", verdict.differences.within);
  members.member("elements", verdict.differences.elements);
  members.member("failing", verdict.differences.failing);
  members.member("first_failing", verdict.differences.first_failing);
  members.member("worst_error", verdict.differences.worst);
  members.member("worst_index", verdict.differences.worst_index);
  if (!Members::kReads && verdict.tolerance.norm == Norm::none) return;
  members.member("difference_norm", verdict.differences.difference_norm);
  members.member("recorded_norm", verdict.differences.recorded_norm);
}

template <class Members, Of<Mismatch> T>
void list_members(Members& members, T& mismatch) {
  members.member("where", mismatch.where);
  members.member("address", mismatch.address);
  members.member("size", mismatch.size);
  members.member("buffer", mismatch.buffer);
  members.member("differing_bytes", mismatch.differing_bytes);
  members.member("first_offset", mismatch.first_offset);
  members.member("outside", mismatch.outside);
  if (Members::kReads || mismatch.tolerance) members.member("tolerance", mismatch.tolerance);
}

template <class Members, Of<NotWritten> T>
void list_members(Members& members, T& buffer) {
  members.member("where", buffer.where);
  members.member("type", buffer.type);
  members.member("elements", buffer.elements);
  members.member("not_written", buffer.not_written);
  members.member("first", buffer.first);
  members.member("wrong", buffer.wrong);
}

template <class Members, Of<FewerThreads> T>
void list_members(Members& members, T& direction) {
  std::string axis(1, direction.axis);
  members.member("axis", axis);
  if constexpr (Members::kReads) {
    if (axis != "x" && axis != "y" && axis != "z") return members.refuse("axis", "x, y or z", axis);
    direction.axis = axis[0];
  }
  members.member("threads", direction.threads);
  members.member("recorded", direction.recorded);
}

template <class Members, Of<ClockReport> T>
void list_members(Members& members, T& clocks) {
  std::vector<uint32_t> mhz{clocks.sm_mhz_before, clocks.sm_mhz_after};
  members.member("sm_mhz", mhz);
  members.member("throttled", clocks.throttled);
  if constexpr (Members::kReads) {
    if (mhz.size() != 2) return members.refuse("sm_mhz", "a list of two", mhz);
    clocks.sm_mhz_before = mhz[0];
    clocks.sm_mhz_after = mhz[1];
  }
}

template <class Members, Of<Occupancy> T>
void list_members(Members& members, T& occupancy) {
  members.member("active_blocks", occupancy.active_blocks);
  members.member("warps", occupancy.warps);
}

template <class Members, Of<RecordedTime> T>
void list_members(Members& members, T& time) {
  members.member("clock_source", time.clock_source);
  members.member("captured", time.captured);
  members.section("others", [&](auto& others) {
    others.member("launches", time.others);
    if (!Members::kReads && time.others == 0) return;
    others.member("min", time.others_min);
    others.member("median", time.others_median);
  });
}

template <class Members, Of<LaunchDimensions> T>
void list_members(Members& members, T& dimensions) {
  members.member("grid", dimensions.grid);
  members.member("block", dimensions.block);
}

template <class Members, Of<SpecialisationReport> T>
void list_members(Members& members, T& report) {
  members.member("arguments", report.arguments);
  members.member("dimensions", report.dimensions);
  members.member("ranges", report.ranges);
  members.member("alignment", report.alignment);
  members.member("no_alias", report.no_alias);
  members.member("may_alias", report.may_alias);
  members.member("max_threads", report.bounds.max_threads);
  members.member("min_blocks", report.bounds.min_blocks);
  members.member("max_cluster", report.bounds.max_cluster);
  members.member("max_registers", report.bounds.max_registers);
  members.member("waves_per_eu", report.bounds.waves_per_eu);
}

namespace {

// The members that are more than one key, or less: times by stage, why it failed, and what was launched.
template <class Members, Of<ReplayResult> T>
void list_times(Members& members, T& result) {
  std::map<std::string, Nanoseconds> times;
  for (const StageTime& stage : result.times) times[stage.stage] = stage.time;
  std::map<std::string, Nanoseconds> session_times;
  for (const StageTime& stage : result.session_times) session_times[stage.stage] = stage.time;
  members.member("times", times);
  members.member("session_times", session_times);
  if constexpr (Members::kReads) {
    for (const auto& [stage, time] : times) result.times.push_back({stage == "poison" ? "mask" : stage, time});
    for (const auto& [stage, time] : session_times) result.session_times.push_back({stage, time});
  }
}

template <class Members, Of<ReplayResult> T>
void list_failure(Members& members, T& result) {
  bool failed = !result.failure.ok();
  std::string error = failed ? result.failure.to_string() : "";
  members.member("failed", failed);
  members.member("error", error);
  if constexpr (Members::kReads)
    if (failed) result.failure = status_of(error);
}

template <class Members, Of<ReplayResult> T>
void list_shape(Members& members, T& result) {
  std::optional<Dim3> grid, block;
  std::optional<Bytes> dynamic_shared_memory;
  std::optional<bool> cooperative;
  std::optional<Dim3> cluster;
  if (result.shape) {
    grid = result.shape->grid, block = result.shape->block;
    dynamic_shared_memory = result.shape->dynamic_shared_memory;
    if (result.shape->cooperative) cooperative = true;
    if (result.shape->cluster != kNoCluster) cluster = result.shape->cluster;
  }
  members.member("grid", grid);
  members.member("block", block);
  members.member("dynamic_shared_memory", dynamic_shared_memory);
  members.member("cooperative", cooperative);
  members.member("cluster", cluster);
  if constexpr (Members::kReads)
    if (grid && block)
      result.shape = {*grid, *block, dynamic_shared_memory.value_or(Bytes()), cooperative.value_or(false),
                      cluster.value_or(kNoCluster)};
}

}  // namespace

template <class Members, Of<ReplayResult> T>
void list_members(Members& members, T& result) {
  members.choice("stage", result.stage, kStageNames);
  members.member("verified", result.verified);
  members.member("executed", result.executed);
  list_failure(members, result);
  members.member("mismatches", result.mismatches);
  members.member("not_written", result.not_written);
  members.member("fewer_threads", result.fewer_threads);
  members.member("order_dependences", result.order_dependences);
  members.member("tolerances", result.tolerances);
  members.member("mask", result.mask, "poison");
  members.member("masked_bytes", result.masked_bytes, "poisoned_bytes");
  members.always("exec_time", result.exec_time);
  if constexpr (!Members::kReads) members.derived("exec_time_stats", statistics(result.exec_time));
  bool timed_too = result.verified_run_timed && !result.exec_time.empty();
  members.member("verified_run_timed", timed_too);
  if constexpr (Members::kReads) result.verified_run_timed = timed_too;
  members.member("clock_source", result.clock_source);
  members.member("clock_remark", result.clock_remark);
  members.member("clocks", result.clocks);
  members.member("exclusive", result.exclusive);
  members.member("occupancy", result.occupancy);
  members.member("reg_usage", result.reg_usage);
  members.member("local_mem_usage", result.local_mem_usage);
  members.member("const_mem_usage", result.const_mem_usage);
  members.member("shared_mem_usage", result.shared_mem_usage);
  members.member("obj_size", result.obj_size);
  members.member("obj_hash", result.obj_hash);
  members.member("instructions", result.instructions);
  members.member("stack_frame", result.stack_frame);
  members.member("spill_store_bytes", result.spill_store_bytes);
  members.member("spill_load_bytes", result.spill_load_bytes);
  members.member("sgpr_usage", result.sgpr_usage);
  members.member("agpr_usage", result.agpr_usage);
  members.member("vgpr_spills", result.vgpr_spills);
  members.member("sgpr_spills", result.sgpr_spills);
  members.member("waves_per_eu", result.waves_per_eu);
  members.member("warnings", result.warnings);
  members.member("assembler", result.assembler);
  members.choice("cache", result.cache, kCacheUseNames);
  members.member("shared_with", result.shared_with);
  list_times(members, result);
  list_shape(members, result);
  members.member("specialised", result.specialised);
  members.member("device", result.device);
  members.member("device_kind", result.device_kind);
  members.member("recorded_time", result.recorded_time);
  if constexpr (!Members::kReads) members.derived_in("recorded_time", "ratio", ratio(result));
  members.member("recorded_on", result.recorded_on);
  members.member("pageable_pointers", result.pageable_pointers);
}

const Json* MemberReader::find(const char* key) const {
  if (!failure_.ok()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void MemberReader::refuse(const char* key, std::string_view expected, const Json& value) {
  constexpr size_t kMostShown = 80;
  std::string text = json_text(value);
  if (text.size() > kMostShown) text = valid_utf8(text.substr(0, kMostShown)) + "…";
  std::string place = path_ + key;
  if (place.ends_with('.')) place.pop_back();
  if (!place.empty()) place = fmt::format("'{}'", place);
  if (failure_.ok())
    failure_ = error(Code::corrupt, "a result: {} must be {}, not {}", place.empty() ? "it" : place, expected, text);
}

void MemberReader::read(const char* key, const Json& json, bool& out) {
  if (!json.is_boolean()) return refuse(key, "true or false", json);
  out = json.get<bool>();
}

void MemberReader::read(const char* key, const Json& json, double& out) {
  constexpr std::pair<const char*, double> kNotFinite[] = {{"inf", std::numeric_limits<double>::infinity()},
                                                           {"-inf", -std::numeric_limits<double>::infinity()},
                                                           {"nan", std::numeric_limits<double>::quiet_NaN()},
                                                           {"-nan", std::numeric_limits<double>::quiet_NaN()}};
  for (const auto& [text, value] : kNotFinite)
    if (json == text) return void(out = value);
  if (!json.is_number()) return refuse(key, "a number", json);
  out = json.get<double>();
}

void MemberReader::read(const char* key, const Json& json, std::string& out) {
  if (!json.is_string()) return refuse(key, "a string", json);
  out = json.get_ref<const std::string&>();
}

void MemberReader::read(const char* key, const Json& json, Nanoseconds& out) {
  double count = 0;
  read(key, json, count);
  out = Nanoseconds(count);
}

namespace {

// What a text means; nothing where it is none, or means nothing.
template <class T>
std::optional<T> parsed(const Json& json, Result<T> (*parse)(std::string_view)) {
  if (!json.is_string()) return std::nullopt;
  Result<T> value = parse(json.get_ref<const std::string&>());
  return value.ok() ? std::optional(std::move(*value)) : std::nullopt;
}

}  // namespace

void MemberReader::read(const char* key, const Json& json, Digest& out) {
  const auto digest = parsed(json, Digest::from_hex);
  if (!digest) return refuse(key, "a digest", json);
  out = *digest;
}

void MemberReader::read(const char* key, const Json& json, DevicePtr& out) {
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  const char* const end = text.data() + text.size();
  std::from_chars_result parsed{nullptr, std::errc::invalid_argument};
  if (text.starts_with("0x")) parsed = std::from_chars(text.data() + 2, end, out.address, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) refuse(key, "an address", json);
}

void MemberReader::read(const char* key, const Json& json, Dim3& out) {
  MemberReader members(json, path_ + key + ".", failure_);
  members.member("x", out.x);
  members.member("y", out.y);
  members.member("z", out.z);
}

void MemberReader::read(const char* key, const Json& json, ElementType& out) {
  const auto type = parsed(json, parse_element_type);
  if (!type) return refuse(key, "a type of elements", json);
  out = *type;
}

void MemberReader::read(const char* key, const Json& json, DeviceKind& out) {
  const auto kind = parsed(json, parse_device_kind);
  if (!kind) return refuse(key, "a kind of device", json);
  out = *kind;
}

void MemberReader::read(const char* key, const Json& json, Tolerance& out) {
  const auto tolerance = parsed(json, parse_tolerance);
  if (!tolerance) return refuse(key, "a tolerance", json);
  out = *tolerance;
}

namespace {

Json written_as(Form form, const ReplayResult& result) {
  MemberWriter members(form);
  list_members(members, result);
  return members.take();
}

}  // namespace

Json to_json(const ReplayResult& result) { return written_as(Form::whole, result); }

Json to_brief_json(const ReplayResult& result) { return written_as(Form::brief, result); }

Result<ReplayResult> replay_result_from_json(const Json& json) {
  ReplayResult result;
  Status failure;
  MemberReader members(json, "", failure);
  list_members(members, result);
  MNEME_TRY(failure);
  // Older versions did not write how far it came.
  if (!json.contains("stage") && json.contains("executed"))
    result.stage = result.failure.ok() ? ReplayStage::done : ReplayStage::running;
  return result;
}

Json to_json(const SpecialisationReport& report) {
  MemberWriter members(Form::brief);
  list_members(members, report);
  return members.take();
}

Result<SpecialisationReport> specialisation_report_from_json(const Json& json) {
  SpecialisationReport report;
  Status failure;
  MemberReader members(json, "specialised.", failure);
  list_members(members, report);
  MNEME_TRY(failure);
  return report;
}

}  // namespace mneme
