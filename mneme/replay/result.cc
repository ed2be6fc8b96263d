#include "mneme/replay/result.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mneme/base/shown.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/verify/difference.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Json extent(Dim3 d) { return {{"x", d.x}, {"y", d.y}, {"z", d.z}}; }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json or_null(const std::optional<Bytes>& value) { return value ? Json(value->count) : Json(); }

Json to_json(const TimeStatistics& s) {
  if (s.count == 0) return {};
  return {{"count", s.count},
          {"min", s.min.count()},
          {"median", s.median.count()},
          {"mean", s.mean.count()},
          {"standard_deviation", s.standard_deviation.count()},
          {"relative_error", s.relative_error}};
}

Json to_json(const std::optional<ClockReport>& clocks) {
  if (!clocks) return {};
  return {{"sm_mhz", {clocks->sm_mhz_before, clocks->sm_mhz_after}}, {"throttled", clocks->throttled}};
}

Json to_json(const std::optional<Occupancy>& occupancy) {
  if (!occupancy) return {};
  return {{"active_blocks", occupancy->active_blocks}, {"warps", occupancy->warps}};
}

// JSON has no infinity.
Json finite_or_text(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

Json to_json(const ToleranceVerdict& verdict) {
  const ElementDifferences& d = verdict.differences;
  Json json = {{"where", verdict.where},
               {"address", fmt::format("{}", verdict.address)},
               {"size", verdict.size.count},
               {"tolerance", format_tolerance(verdict.tolerance)},
               {"within", d.within},
               {"elements", d.elements},
               {"failing", d.failing},
               {"first_failing", or_null(d.first_failing)},
               {"worst_error", finite_or_text(d.worst)},
               {"worst_index", or_null(d.worst_index)}};
  if (verdict.tolerance.norm == Norm::none) return json;
  json["difference_norm"] = finite_or_text(d.difference_norm);
  json["recorded_norm"] = finite_or_text(d.recorded_norm);
  return json;
}

Json to_json(const Mismatch& m) {
  Json json = {{"where", m.where},
               {"address", fmt::format("{}", m.address)},
               {"size", m.size.count},
               {"buffer", or_null(m.buffer)},
               {"differing_bytes", m.differing_bytes},
               {"first_offset", m.first_offset}};
  if (m.tolerance) json["tolerance"] = to_json(*m.tolerance);
  return json;
}

Json to_json(const NotWritten& n) {
  return {{"where", n.where},       {"type", n.type ? Json(to_string(*n.type)) : Json()},
          {"elements", n.elements}, {"not_written", n.not_written},
          {"first", n.first},       {"wrong", n.wrong}};
}

// null: nobody looked.
Json not_written(const ReplayResult& result) {
  if (!result.not_written) return {};
  Json all = Json::array();
  for (const NotWritten& n : *result.not_written) all.push_back(to_json(n));
  return all;
}

Json fewer_threads_json(const ReplayResult& result) {
  Json all = Json::array();
  for (const FewerThreads& f : fewer_threads(result))
    all.push_back({{"axis", std::string(1, f.axis)}, {"threads", f.threads}, {"recorded", f.recorded}});
  return all;
}

// With the ratio of the replay's median to it.
Json recorded_time(const ReplayResult& result) {
  if (!result.recorded_time) return {};
  Json json = to_json(*result.recorded_time);
  const double before = result.recorded_time->reference();
  const TimeStatistics now = statistics_of(result.exec_time);
  json["ratio"] = now.count != 0 && before > 0 ? Json(now.median.count() / before) : Json();
  return json;
}

Json cache_use(CacheUse use) {
  switch (use) {
    case CacheUse::off: break;
    case CacheUse::miss: return "miss";
    case CacheUse::same_code: return "same_code";
    case CacheUse::hit: return "hit";
  }
  return {};
}

}  // namespace

std::vector<FewerThreads> fewer_threads(const ReplayResult& result) {
  std::vector<FewerThreads> fewer;
  if (!result.shape) return fewer;
  const auto see = [&](char axis, uint32_t Dim3::* extent) {
    const auto threads = [&](const LaunchShape& shape) { return uint64_t{shape.grid.*extent} * (shape.block.*extent); };
    if (threads(*result.shape) < threads(result.recorded_shape))
      fewer.push_back({axis, threads(*result.shape), threads(result.recorded_shape)});
  };
  see('x', &Dim3::x);
  see('y', &Dim3::y);
  see('z', &Dim3::z);
  return fewer;
}

std::string describe_wrong(const ReplayResult& result) {
  std::string text, threads;
  uint64_t explained = 0;  // mismatches are of regions, and a region may hold more than one buffer
  bool all_explained = true;
  for (const NotWritten& n : result.not_written.value_or(std::vector<NotWritten>())) {
    all_explained = all_explained && n.wrong == 0;
    if (n.not_written == 0) continue;
    ++explained;
    text +=
        fmt::format("{}{}", text.empty() ? "" : "; ", describe_not_written(shown(n.where), n.type, n.elements, n.not_written));
  }
  for (const FewerThreads& f : fewer_threads(result))
    threads += fmt::format("{}{} of {} threads in {}", threads.empty() ? "" : ", ", f.threads, f.recorded, f.axis);
  if (text.empty() || !all_explained || explained < result.mismatches.size())
    text += fmt::format("{}{}", text.empty() ? "" : "; ", describe(result.mismatches));
  if (!threads.empty()) text += fmt::format(" ({}: --keep-threads keeps them)", threads);
  if (!result.order_dependences.empty())
    text +=
        fmt::format("; the kernel {}: mneme check tells whether it is deterministic", fmt::join(result.order_dependences, ", "));
  return text;
}

Json to_json(const ReplayResult& result) {
  Json times = Json::object(), runs = Json::array(), mismatches = Json::array(), tolerances = Json::array();
  for (const StageTime& stage : result.times) times[stage.stage] = stage.time.count();
  for (Nanoseconds run : result.exec_time) runs.push_back(run.count());
  for (const Mismatch& m : result.mismatches) mismatches.push_back(to_json(m));
  for (const ToleranceVerdict& verdict : result.tolerances) tolerances.push_back(to_json(verdict));
  bool compiled = result.object_size.has_value();
  bool prepared = !result.device.empty();
  return {{"verified", result.verified},
          {"executed", result.executed},
          {"failed", !result.failure.ok()},
          {"error", result.failure.ok() ? Json() : Json(result.failure.to_string())},
          {"mismatches", mismatches},
          {"not_written", not_written(result)},
          {"fewer_threads", fewer_threads_json(result)},
          {"order_dependences", result.order_dependences},
          {"tolerances", tolerances},
          {"mask", or_null(result.mask)},
          {"masked_bytes", result.masked_bytes.count},
          {"exec_time", runs},
          {"exec_time_stats", to_json(statistics_of(result.exec_time))},
          {"verified_run_timed", result.verified_run_timed && !result.exec_time.empty()},
          {"clock_source", or_null(result.clock.source)},
          {"clock_remark", or_null(result.clock.remark)},
          {"clocks", to_json(result.clocks)},
          {"exclusive", result.exclusive},
          {"occupancy", to_json(result.occupancy)},
          {"reg_usage", or_null(result.resources.registers ? result.resources.registers : result.facts.registers)},
          {"local_mem_usage", or_null(result.resources.local_memory)},
          {"const_mem_usage", or_null(result.resources.constant_memory)},
          {"shared_mem_usage", or_null(result.resources.static_shared_memory)},
          {"obj_size", or_null(result.object_size)},
          {"obj_hash", compiled ? Json(result.object_digest.hex()) : Json()},
          {"instructions", or_null(result.facts.instructions)},
          {"stack_frame", or_null(result.facts.stack_frame)},
          {"spill_store_bytes", or_null(result.facts.spill_stores)},
          {"spill_load_bytes", or_null(result.facts.spill_loads)},
          {"warnings", result.warnings},
          {"assembler", compiled ? Json(result.assembler) : Json()},
          {"cache", compiled ? cache_use(result.cache) : Json()},
          {"shared_with", result.shared_with ? Json(result.shared_with->hex()) : Json()},
          {"times", times},
          {"grid", result.shape ? extent(result.shape->grid) : Json()},
          {"block", result.shape ? extent(result.shape->block) : Json()},
          {"dynamic_shared_memory", result.shape ? Json(result.shape->dynamic_shared_memory.count) : Json()},
          {"specialised", result.specialised ? to_json(*result.specialised) : Json()},
          {"device", or_null(result.device)},
          {"device_kind", prepared ? Json(to_string(result.device_kind)) : Json()},
          {"recorded_time", recorded_time(result)},
          {"recorded_on", or_null(result.recorded_on)}};
}

}  // namespace mneme
