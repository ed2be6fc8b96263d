#include "mneme/replay/measurement.h"

#include <algorithm>
#include <cmath>

#include "mneme/base/activity.h"
#include "mneme/replay/stopping_rule.h"

namespace mneme {
namespace {

void add_reading(std::optional<ClockReport>& report, Device& device) {
  std::optional<ClockReading> reading = device.read_clocks();
  if (!reading) return;
  if (!report) report.emplace().sm_mhz_before = reading->sm_mhz;
  report->sm_mhz_after = reading->sm_mhz;
  for (std::string& reason : reading->throttled)
    if (std::find(report->throttled.begin(), report->throttled.end(), reason) == report->throttled.end())
      report->throttled.push_back(std::move(reason));
}

// How many launches of a batch are waited for before the watch is told.
unsigned at_once(unsigned batch, const RunWatch& watch, Nanoseconds expected) {
  if (!watch.timed || expected.count() <= 0) return batch;
  const double fit = Nanoseconds(RunWatch::kReportEvery) / expected;
  return fit >= batch ? batch : std::max(1u, static_cast<unsigned>(fit));
}

// More than launches take that end; from the limit of one launch on, which is allowed beside it, they are taken for hanging.
Nanoseconds allowance(unsigned launches, const MeasuredLaunch& launch) {
  return launches * (10 * launch.expected + std::chrono::milliseconds(10));
}

}  // namespace

std::vector<std::string> describe_problems(const ClockReport& clocks) {
  std::vector<std::string> problems;
  const double before = clocks.sm_mhz_before, after = clocks.sm_mhz_after;
  if (std::abs(after - before) > 0.01 * before)
    problems.push_back(
        fmt::format("the device's clock was {} MHz before the timed launches and {} MHz after them: the times are "
                    "of no one clock",
                    clocks.sm_mhz_before, clocks.sm_mhz_after));
  std::string reasons;
  for (const std::string& reason : clocks.throttled) reasons += (reasons.empty() ? "" : ", ") + reason;
  if (!reasons.empty())
    problems.push_back(fmt::format("the device's clocks were held down while kernels were timed: {}", reasons));
  return problems;
}

Measurer::~Measurer() {
  if (other_memory_.address == 0) return;
  [[maybe_unused]] Status ignored = device_.free(other_memory_);
}

// Writes twice as much as the cache holds, since which lines it gives up is its own affair.
Status Measurer::empty_cache() {
  const Bytes size(2 * device_.properties().l2_cache.count);
  if (other_memory_.address == 0) {
    auto memory = device_.allocate(size);
    if (!memory.ok()) return memory.status().with_context("allocating memory that empties the L2 cache");
    other_memory_ = *memory;
  }
  return stream_.fill(other_memory_, std::byte{0}, size);
}

Status Measurer::prepare(const Execution& execution, const MeasuredLaunch& launch) {
  MNEME_TRY(launch.restore());
  if (execution.l2 == CacheState::cold) return empty_cache();
  if (execution.l2 == CacheState::warm) return launch.read_through();
  return {};
}

Status Measurer::warm_up(const Execution& execution, const MeasuredLaunch& launch) {
  ActivityScope timing(Activity::timing, allowance(execution.warm_up, launch));
  for (unsigned i = 0; i < execution.warm_up; ++i) {
    MNEME_TRY(prepare(execution, launch));
    MNEME_TRY(stream_.launch(launch.kernel, launch.shape, launch.parameters));
  }
  return stream_.synchronize();
}

Result<std::vector<Nanoseconds>> Measurer::time(unsigned batch, const Execution& execution, const MeasuredLaunch& launch) {
  ActivityScope timing(Activity::timing, allowance(batch, launch));
  for (unsigned i = 0; i < batch; ++i) {
    MNEME_TRY(prepare(execution, launch));
    MNEME_TRY(stream_.launch_timed(launch.kernel, launch.shape, launch.parameters));
  }
  return stream_.take_times();
}

Result<Measurement> Measurer::measure(const Execution& execution, const MeasuredLaunch& launch, const RunWatch& watch) {
  Measurement result;
  MNEME_ASSIGN(result.clock, device_.clock());
  const StoppingRule rule(execution);
  unsigned batch = rule.next({}, Nanoseconds(0));
  if (batch == 0) return result;
  MNEME_TRY(warm_up(execution, launch));
  add_reading(result.clocks, device_);
  const auto begin = std::chrono::steady_clock::now();
  while (batch > 0) {
    batch = at_once(batch, watch, launch.expected);
    MNEME_ASSIGN(std::vector<Nanoseconds> times, time(batch, execution, launch));
    const Nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
    add_reading(result.clocks, device_);
    result.times.insert(result.times.end(), times.begin(), times.end());
    batch = rule.next(result.times, elapsed);
    if (batch > 0 && watch.timed && !watch.timed(times)) break;
  }
  return result;
}

}  // namespace mneme
