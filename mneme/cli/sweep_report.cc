#include "mneme/cli/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mneme/base/shown.h"
#include "mneme/cli/recording_view.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/replay/json_text.h"

namespace mneme::cli {
namespace {

using Json = nlohmann::json;

// What a sweep has measured once and not in turn with the launch as recorded.
constexpr char kNotConfirmed[] = "not confirmed";
constexpr size_t kCellWidth = 40, kLongestValue = 100;
// The times of the recorded configuration that differ by more make the others' doubtful.
constexpr double kMuchDrift = 0.05;

std::string format_value(const Json& value, size_t most) {
  std::string text = value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : json_text(value);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return shown(text, most);
}

std::string format_failures(const SweepTally& tally) {
  std::string text;
  for (const auto& [kind, failures] : tally.failures())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", failures.count, to_string(kind));
  return text;
}

// Whether what was compared was equal to the byte, on each instance where there are several.
bool is_exact(const ResultDetails& details) {
  for (const ReplayResult* result : details.each())
    for (const ToleranceVerdict& tolerance : result->tolerances)
      if (tolerance.differences.worst != 0) return false;
  return true;
}

std::string verified(const SweepTally::Row& row) { return is_exact(row.result.details) ? "to the byte" : "within tolerance"; }

Json or_null(const std::optional<uint32_t>& value) { return value ? Json(*value) : Json(); }

Json or_null(const std::optional<Bytes>& size) { return size ? Json(size->count) : Json(); }

bool drifted(const SweepTally& tally) {
  const std::vector<Nanoseconds>& times = tally.baseline_times();
  if (times.empty()) return false;
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return *most > *least * (1 + kMuchDrift);
}

// Over a baseline that changed during the run it may be anything between two figures.
std::string speed_up_text(const SweepTally& tally, const SweepTally::Row& row) {
  auto speed_up = tally.speed_up(row);
  if (!speed_up) return "-";
  if (!drifted(tally)) return fmt::format("{:.3f}", *speed_up);
  const auto [least, most] = std::minmax_element(tally.baseline_times().begin(), tally.baseline_times().end());
  return fmt::format("{:.2f} to {:.2f}", *least / row.time, *most / row.time);
}

std::string number_text(const std::optional<uint32_t>& number) { return number ? fmt::format("{}", *number) : "-"; }
std::string size_text(const std::optional<Bytes>& size) { return size ? format_bytes(*size) : "-"; }

std::string fastest_table(const SweepPlan& plan, const SweepTally& tally) {
  std::vector<std::string> head{"RANK"};
  for (const GridAxis& axis : plan.axes) head.push_back(axis.key);
  head.insert(head.end(), {"TIME", "SPEED-UP", "REGISTERS", "OBJECT", "VERIFIED", "ALIKE"});
  std::vector<std::vector<std::string>> rows{head};
  for (size_t i = 0; i < tally.fastest().size(); ++i) {
    const SweepTally::Row& row = tally.fastest()[i];
    std::vector<std::string> cells{std::to_string(i + 1)};
    for (const Json& value : row.values) cells.push_back(format_value(value, kCellWidth));
    cells.push_back(format_time(row.time));
    cells.push_back(speed_up_text(tally, row));
    const ReplayResult& first = row.result.details.first();
    cells.push_back(number_text(first.reg_usage));
    cells.push_back(size_text(first.obj_size));
    cells.push_back(verified(row));
    cells.push_back(fmt::format("{}", tally.alike(row)));
    rows.push_back(std::move(cells));
  }
  return format_table(rows);
}

// Registers, or on NVIDIA GPUs the bytes that instructions spill.
std::string spilled_text(const ReplayResult& code) {
  if (code.vgpr_spills) return fmt::format("{}", *code.vgpr_spills + code.sgpr_spills.value_or(0));
  return size_text(code.spill_store_bytes);
}

std::vector<std::string> code_cells(const ReplayResult& code) {
  return {code.instructions ? fmt::format("{}", *code.instructions) : "-",
          number_text(code.reg_usage),
          spilled_text(code),
          size_text(code.shared_mem_usage),
          number_text(code.waves_per_eu),
          size_text(code.obj_size)};
}

std::string code_table(const SweepPlan& plan, const SweepTally& tally) {
  std::vector<std::string> head{"RANK"};
  for (const GridAxis& axis : plan.axes) head.push_back(axis.key);
  head.insert(head.end(), {"INSTRUCTIONS", "REGISTERS", "SPILLED", "SHARED", "WAVES", "OBJECT", "ALIKE"});
  std::vector<std::vector<std::string>> rows{head};
  for (size_t i = 0; i < tally.fastest().size(); ++i) {
    const SweepTally::Row& row = tally.fastest()[i];
    std::vector<std::string> cells{std::to_string(i + 1)};
    for (const Json& value : row.values) cells.push_back(format_value(value, kCellWidth));
    const std::vector<std::string> code = code_cells(row.result.details.first());
    cells.insert(cells.end(), code.begin(), code.end());
    cells.push_back(fmt::format("{}", tally.alike(row)));
    rows.push_back(std::move(cells));
  }
  return format_table(rows);
}

// "as-built: default<O2>", "default<O3>"
std::string recorded_pipeline(const SweepPlan& plan) {
  const bool told = plan.recorded_passes == kAsBuilt && !plan.as_built.empty();
  return shown(told ? fmt::format("{}: {}", kAsBuilt, plan.as_built) : plan.recorded_passes);
}

std::string baseline_code_text(const SweepPlan& plan, const SweepTally& tally) {
  const std::string before = fmt::format("as recorded ({}), for {}: ", recorded_pipeline(plan), shown(plan.compile_for));
  if (!tally.baseline_code())
    return before + (tally.baseline_problem().empty() ? "not compiled" : shown_message(tally.baseline_problem())) + "\n";
  const std::vector<std::string> code = code_cells(*tally.baseline_code());
  return before + fmt::format("{} instructions, {} registers, {}\n", code[0], code[1], code[5]);
}

std::string baseline_text(const SweepPlan& plan, const SweepTally& tally) {
  if (tally.ranking() == Ranking::code) return baseline_code_text(plan, tally);
  const std::vector<Nanoseconds>& times = tally.baseline_times();
  if (times.empty()) {
    const std::string& problem = tally.baseline_problem();
    return fmt::format("as recorded: not measured{}, so that there are no speed-ups\n",
                       problem.empty() ? "" : ": " + shown_message(problem));
  }
  std::string text = fmt::format("as recorded ({}): ", recorded_pipeline(plan));
  for (size_t i = 0; i < times.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == times.size() ? " and " : ", ", format_time(times[i]));
  if (tally.baseline_at_begin_and_end()) text += " at the begin and the end";
  if (drifted(tally)) {
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    text += fmt::format("; they differ by {:.0f} %, and so may the others: speed-ups are over the least and over the most",
                        100 * (*most / *least - 1));
  }
  return text + "\n";
}

std::string counts_text(uint64_t total, const SweepTally& tally, const SweepRate& rate) {
  const SweepTally::Counts& counts = tally.counts();
  const bool compiled = tally.ranking() == Ranking::code;
  std::string text = fmt::format("{} of {} done: {} {}, {} failed", counts.done, plural(total, "configuration"), counts.right,
                                 compiled ? "compiled, and not run" : "verified", counts.failed);
  if (counts.shared != 0) text += fmt::format("; {} shared another's measurement", counts.shared);
  if (counts.resumed != 0) text += fmt::format("; {} of an earlier run", counts.resumed);
  text += "\n";
  if (rate.seconds <= 0) return text;
  if (compiled)
    return text + fmt::format("{} in {}, {:.1f} a second; {} busy {:.0f} %\n", counts.measured, format_duration(rate.seconds),
                              rate.per_second(counts.measured), plural(rate.compile_workers, "compile worker"),
                              100 * rate.compile_busy());
  return text + fmt::format("{} measured in {}, {:.1f} a second; {} busy {:.0f} %, {} {:.0f} %\n", counts.measured,
                            format_duration(rate.seconds), rate.per_second(counts.measured), plural(rate.devices, "device"),
                            100 * rate.device_busy(), plural(rate.compile_workers, "compile worker"), 100 * rate.compile_busy());
}

std::string failures_text(const SweepPlan& plan, const SweepTally& tally) {
  std::string text;
  for (const auto& [kind, failures] : tally.failures())
    text += fmt::format("{} {}, as {}: {}\n", failures.count, to_string(kind),
                        format_point(plan.axes, failures.values, kLongestValue), shown_message(failures.reason));
  return text;
}

Json values_json(const SweepPlan& plan, const std::vector<Json>& values) {
  Json json = Json::object();
  for (size_t i = 0; i < plan.axes.size() && i < values.size(); ++i) json[plan.axes[i].key] = values[i];
  return json;
}

Json row_json(const SweepTally& tally, const SweepTally::Row& row) {
  auto speed_up = tally.speed_up(row);
  return {{"configuration", mneme::to_json(row.result.configuration)},
          {"digest", whole_digest(row.result.configuration).hex()},
          {"time", row.time.count()},
          {"speed_up", speed_up ? Json(*speed_up) : Json()},
          {"reg_usage", or_null(row.result.details.first().reg_usage)},
          {"obj_size", or_null(row.result.details.first().obj_size)},
          {"verified", verified(row)},
          {"alike", tally.alike(row)}};
}

Json code_row_json(const SweepTally& tally, const SweepTally::Row& row) {
  return {{"configuration", mneme::to_json(row.result.configuration)},
          {"digest", whole_digest(row.result.configuration).hex()},
          {"result", mneme::to_json(row.result.details)},
          {"alike", tally.alike(row)}};
}

Json baseline_json(const SweepPlan& plan, const SweepTally& tally) {
  Json times = Json::array();
  for (Nanoseconds time : tally.baseline_times()) times.push_back(time.count());
  auto median = tally.baseline();
  return {{"configuration", mneme::to_json(plan.baseline())},
          {"times", times},
          {"time", median ? Json(median->count()) : Json()},
          {"problem", tally.baseline_problem().empty() ? Json() : Json(tally.baseline_problem())}};
}

Json rate_json(const SweepTally::Counts& counts, const SweepRate& rate) {
  return {{"seconds", rate.seconds},
          {"seconds_before", rate.seconds_before},
          {"measured_per_second", rate.per_second(counts.measured)},
          {"done_per_second", rate.per_second(counts.done - counts.resumed)},
          {"devices", rate.devices},
          {"device_busy", rate.device_busy()},
          {"compile_workers", rate.compile_workers},
          {"compile_busy", rate.compile_busy()},
          {"distinct_objects", rate.now.distinct_objects},
          {"workers_replaced", rate.now.workers_replaced},
          {"launches", counts.launches},
          {"kernel_ns", counts.kernel_time.count()},
          {"stages_ns", counts.stages}};
}

}  // namespace

double SweepRate::device_busy() const {
  const double busy = std::chrono::duration<double>(now.device_busy - start.device_busy).count();
  return seconds > 0 ? std::min(1.0, busy / seconds / static_cast<double>(devices)) : 0;
}

double SweepRate::compile_busy() const {
  const double busy = std::chrono::duration<double>(now.compile_busy - start.compile_busy).count();
  return seconds > 0 ? std::min(1.0, busy / seconds / compile_workers) : 0;
}

std::string format_duration(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", 1e3 * seconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", whole / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_point(const std::vector<GridAxis>& axes, const std::vector<Json>& values, size_t most) {
  std::string text;
  for (size_t i = 0; i < axes.size() && i < values.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", shown(axes[i].key), format_value(values[i], most));
  return text.empty() ? "the base" : text;
}

std::string sweep_line(uint64_t total, const SweepTally& tally, const SweepRate& rate) {
  const SweepTally::Counts& counts = tally.counts();
  std::string text = fmt::format("{} of {}", counts.done, total);
  if (counts.failed != 0) text += fmt::format(", {} failed ({})", counts.failed, format_failures(tally));
  if (!tally.fastest().empty() && tally.ranking() == Ranking::time) {
    text += fmt::format(", best {}", format_time(tally.fastest().front().time));
    if (auto speed_up = tally.speed_up(tally.fastest().front())) text += fmt::format(" ({:.2f} x)", *speed_up);
  }
  if (rate.seconds > 0 && tally.ranking() == Ranking::code)
    text += fmt::format(", {:.1f}/s", rate.per_second(counts.measured));
  else if (rate.seconds > 0)
    text += fmt::format(", {:.1f}/s, device {:.0f} % busy", rate.per_second(counts.measured), 100 * rate.device_busy());
  const uint64_t done_now = counts.done - counts.resumed;
  if (done_now != 0 && counts.done < total && rate.seconds > 0)
    text += fmt::format(", {} left",
                        format_duration(rate.seconds * static_cast<double>(total - counts.done) / static_cast<double>(done_now)));
  return text;
}

std::string sweep_table(const SweepPlan& plan, uint64_t total, const SweepTally& tally, const SweepRate& rate) {
  std::string text;
  const bool compiled = tally.ranking() == Ranking::code;
  if (!tally.fastest().empty()) text += (compiled ? code_table(plan, tally) : fastest_table(plan, tally)) + "\n";
  const std::string weights = describe(plan.weights);
  if (!weights.empty() && !compiled) text += weights + "\n";
  return text + baseline_text(plan, tally) + counts_text(total, tally, rate) + failures_text(plan, tally);
}

Json sweep_json(const SweepPlan& plan, uint64_t total, const SweepTally& tally, const SweepRate& rate) {
  const SweepTally::Counts& counts = tally.counts();
  Json best = Json::array(), failures = Json::object();
  for (const SweepTally::Row& row : tally.fastest()) {
    best.push_back(tally.ranking() == Ranking::code ? code_row_json(tally, row) : row_json(tally, row));
    best.back()["values"] = values_json(plan, row.values);
  }
  for (const auto& [kind, failed] : tally.failures())
    failures[std::string(to_string(kind))] = {
        {"count", failed.count}, {"values", values_json(plan, failed.values)}, {"reason", failed.reason}};
  const std::string device = tally.fastest().empty() ? "" : tally.fastest().front().result.details.first().device;
  const bool compiled = tally.ranking() == Ranking::code;
  Json json = {{"total", total},
               {"device", compiled ? Json() : Json(to_string(plan.device))},
               {"device_name", device.empty() || compiled ? Json() : Json(device)},
               {"done", counts.done},
               {"verified", compiled ? 0 : counts.right},
               {"failed", counts.failed},
               {"measured", counts.measured},
               {"shared", counts.shared},
               {"resumed", counts.resumed},
               {"failures", failures},
               {"baseline", baseline_json(plan, tally)},
               {"best", best},
               {"rate", rate_json(counts, rate)}};
  if (plan.weights.of.size() > 1) json["weights"] = to_json(plan.weights);
  if (compiled) json["compiled_for"] = plan.compile_for;
  return json;
}

Json best_json(const SweepTally& tally) {
  const SweepTally::Row& row = tally.fastest().front();
  auto speed_up = tally.speed_up(row);
  return {{"configuration", mneme::to_json(row.result.configuration)},
          {"result", to_json(row.result.details)},
          {"time", row.time.count()},
          {"speed_up", speed_up ? Json(*speed_up) : Json()},
          {"interval", Json()},
          {"claim", kNotConfirmed}};
}

}  // namespace mneme::cli
