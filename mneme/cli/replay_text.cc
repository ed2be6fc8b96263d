#include "mneme/cli/replay_text.h"

#include <vector>

#include "mneme/base/shown.h"
#include "mneme/cli/recording_view.h"
#include "mneme/cli/sweep_report.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/verify/difference.h"

namespace mneme::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kMostPlaces = 8;  // that differ, one a line

std::string verdict(const ReplayResult& result) {
  if (result.verified) {
    bool tolerated = false;
    for (const ToleranceVerdict& t : result.tolerances) tolerated = tolerated || t.differences.worst != 0;
    return tolerated ? "verified: memory is as recorded, within its tolerances" : "verified: memory is as recorded, to the byte";
  }
  return "not verified: " + shown(describe_wrong(result), 0);
}

void add_times(const ReplayResult& result, Rows& rows) {
  const TimeStatistics now = statistics_of(result.exec_time);
  if (now.count != 0) {
    std::string spread;
    if (now.count > 1)
      spread = fmt::format(", standard deviation {} ({:.1f} % of the mean)", format_time(now.standard_deviation),
                           now.mean.count() > 0 ? 100 * (now.standard_deviation / now.mean) : 0);
    rows.push_back({"  time", fmt::format("{}, the median of {}; least {}{} ({})", format_time(now.median),
                                          plural(now.count, "run"), format_time(now.min), spread, result.clock_source)});
  }
  if (!result.recorded_time) return;
  const RecordedTime& recorded = *result.recorded_time;
  const double before = recorded.reference();
  std::string text = format_recorded_time(recorded);
  if (recorded.others > 1) text += fmt::format(", least {}", format_time(Nanoseconds(recorded.others_min)));
  if (now.count != 0 && before > 0) text += fmt::format("; this is {:.2f} of it", now.median.count() / before);
  rows.push_back({"  recorded", text});
}

void add_launch(const ReplayResult& result, const LaunchShape& then, Rows& rows) {
  if (!result.shape) return;
  const LaunchShape& now = *result.shape;
  std::string text = fmt::format("grid {}, block {}", now.grid, now.block);
  if (now.cluster != kNoCluster) text += fmt::format(", clusters of {}", now.cluster);
  const bool same = now.grid == then.grid && now.block == then.block;
  text += same ? ", as recorded" : fmt::format("; recorded: grid {}, block {}", then.grid, then.block);
  for (const FewerThreads& f : result.fewer_threads)
    text += fmt::format("; {} of {} threads in {}: --keep-threads keeps them", f.threads, f.recorded, f.axis);
  rows.push_back({"  launch", text});
}

std::string registers(const ReplayResult& result) {
  std::string text = fmt::format("{} of a thread", *result.reg_usage);
  if (result.agpr_usage && *result.agpr_usage != 0) text += fmt::format(", {} of them for accumulation", *result.agpr_usage);
  if (result.sgpr_usage) text += fmt::format("; {} scalar ones of a wavefront", *result.sgpr_usage);
  return text;
}

// What a device tells in other words once the code is loaded.
void add_compiled(const ReplayResult& result, Rows& rows) {
  if (result.stack_frame) rows.push_back({"  stack", fmt::format("{} of a thread", *result.stack_frame)});
  if (result.shared_mem_usage) rows.push_back({"  shared", fmt::format("{} of a block", *result.shared_mem_usage)});
  if (result.waves_per_eu)
    rows.push_back({"  occupancy", fmt::format("{} of a SIMD", plural(*result.waves_per_eu, "wavefront"))});
  if (result.instructions) rows.push_back({"  instructions", fmt::format("{}", *result.instructions)});
}

void add_code(const ReplayResult& result, Rows& rows) {
  if (result.reg_usage) rows.push_back({"  registers", registers(result)});
  if (result.spill_store_bytes && result.spill_load_bytes)
    rows.push_back({"  spilled", fmt::format("{} stored, {} loaded", *result.spill_store_bytes, *result.spill_load_bytes)});
  if (result.vgpr_spills && result.sgpr_spills)
    rows.push_back(
        {"  spilled", fmt::format("{} and {} registers, vector and scalar", *result.vgpr_spills, *result.sgpr_spills)});
  if (result.stage == ReplayStage::compiled) add_compiled(result, rows);
  if (result.obj_size) rows.push_back({"  code", fmt::format("{}", *result.obj_size)});
  if (result.occupancy)
    rows.push_back({"  occupancy", fmt::format("{:.0f} %, {} of a multiprocessor", 100 * result.occupancy->warps,
                                               plural(result.occupancy->active_blocks, "block"))});
}

void add_differences(const ReplayResult& result, Rows& rows) {
  if (result.not_written)
    for (const NotWritten& n : *result.not_written)
      rows.push_back(
          {"  not written",
           fmt::format("{}, the first at index {}{}", shown(describe_not_written(n.where, n.type, n.elements, n.not_written)),
                       n.first, n.wrong != 0 ? fmt::format("; {} that were are wrong", n.wrong) : "")});
  for (size_t i = 0; i < std::min(result.mismatches.size(), kMostPlaces); ++i) {
    const Mismatch& m = result.mismatches[i];
    rows.push_back({"  differs", fmt::format("{}: {} of {}, from offset {} on", shown(m.buffer.empty() ? m.where : m.buffer),
                                             plural(m.differing_bytes, "byte"), m.size, m.first_offset)});
  }
  if (result.mismatches.size() > kMostPlaces)
    rows.push_back({"  differ", fmt::format("{} more places", result.mismatches.size() - kMostPlaces)});
  if (!result.verified) rows.push_back({"  see", "mneme diff shows it element by element"});
}

}  // namespace

std::string replay_text(const std::string& title, const std::string& pipeline, const ReplayResult& result,
                        const LaunchShape& recorded) {
  const std::string name = shown(title, 0);
  if (!result.failure.ok()) return fmt::format("{}: could not be replayed\n", name.empty() ? "the launch" : name);
  const bool compiled = result.stage == ReplayStage::compiled;
  std::string text = compiled ? fmt::format("{} for {}\n  compiled, and not run\n", name, shown(result.device))
                              : fmt::format("{} on {}\n  {}\n", name, shown(result.device), verdict(result));
  Rows rows;
  if (!compiled) add_times(result, rows);
  add_launch(result, recorded, rows);
  rows.push_back({"  pipeline", shown(pipeline)});
  add_code(result, rows);
  if (!result.mask.empty())
    rows.push_back({"  mask", result.mask == "on" ? fmt::format("on, {}", result.masked_bytes) : shown(result.mask)});
  if (!compiled) add_differences(result, rows);
  return text + format_table(rows, 0);
}

}  // namespace mneme::cli
