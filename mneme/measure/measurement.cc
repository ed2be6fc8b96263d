#include "mneme/measure/measurement.h"

#include <algorithm>
#include <cmath>

#include "mneme/base/activity.h"
#include "mneme/measure/stopping_rule.h"

namespace mneme {
namespace {

void add_reading(std::optional<ClockReport>& report, const ClockReading& reading) {
  if (!report) report.emplace().sm_mhz_before = reading.sm_mhz;
  report->sm_mhz_after = reading.sm_mhz;
  for (const std::string& reason : reading.throttled)
    if (std::find(report->throttled.begin(), report->throttled.end(), reason) == report->throttled.end())
      report->throttled.push_back(reason);
}

// How many launches of a batch are waited for before the watch is told.
unsigned at_once(unsigned batch, const SeeTimes& see, Nanoseconds expected) {
  if (!see || expected.count() <= 0) return batch;
  const double fit = Nanoseconds(kReportEvery) / expected;
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

Result<Measurement> Measurer::measure(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see) {
  MNEME_TRY(begin(execution, launch, see).status());
  return finish();
}

Result<bool> Measurer::may_count_first(const Execution& execution) {
  MNEME_ASSIGN(const DeviceClock clock, device_.clock());
  return clock.first_launch && last_time_ > 100 * *clock.first_launch && execution.stop == StopWhen::fixed &&
         execution.iterations > 1 && execution.warm_up == 0 && execution.l2 == CacheState::as_it_comes;
}

Result<unsigned> Measurer::begin(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see,
                                 unsigned counted) {
  UnderWay& now = under_way_.emplace(UnderWay{execution, launch, see, {}, counted, {}});
  MNEME_ASSIGN(now.measurement.clock, device_.clock());
  const unsigned batch = StoppingRule(execution).next({}, Nanoseconds(0)) - counted;
  if (batch == 0) return batch;
  ActivityScope timing(Activity::timing, allowance(execution.warm_up + batch, launch));
  for (unsigned i = 0; i < execution.warm_up; ++i) {
    MNEME_TRY(prepare(execution, launch));
    MNEME_TRY(stream_.launch(launch.kernel, launch.shape, launch.parameters));
  }
  if (execution.stop == StopWhen::time) MNEME_TRY(stream_.synchronize());
  read_clocks();
  now.begin = std::chrono::steady_clock::now();
  MNEME_TRY(start(batch));
  return std::exchange(now.batch, now.batch + counted);
}

Status Measurer::start(unsigned count) {
  UnderWay& now = *under_way_;
  now.batch = at_once(count, now.see, now.launch.expected);
  for (unsigned i = 0; i < now.batch; ++i) {
    MNEME_TRY(prepare(now.execution, now.launch));
    MNEME_TRY(stream_.launch_timed(now.launch.kernel, now.launch.shape, now.launch.parameters));
  }
  return {};
}

Result<Measurement> Measurer::finish() {
  UnderWay& now = *under_way_;
  Measurement& result = now.measurement;
  const StoppingRule rule(now.execution);
  while (now.batch > 0) {
    // Who has not waited for the warm-up waits for it here.
    ActivityScope timing(Activity::timing, allowance(now.execution.warm_up + now.batch, now.launch));
    MNEME_ASSIGN(std::vector<Nanoseconds> times, take_times());
    const Nanoseconds elapsed = std::chrono::steady_clock::now() - now.begin;
    read_clocks();
    result.times.insert(result.times.end(), times.begin(), times.end());
    const unsigned more = rule.next(result.times, elapsed);
    if (more > 0 && now.see && !now.see(times)) break;
    MNEME_TRY(start(more));
  }
  Measurement done = std::move(result);
  under_way_.reset();
  return done;
}

void Measurer::forget() {
  [[maybe_unused]] auto ignored = take_times();
  under_way_.reset();
}

bool Measurer::can_leave() const {
  return under_way_ && under_way_->batch > 0 && under_way_->execution.stop == StopWhen::fixed &&
         under_way_->batch == under_way_->execution.iterations;
}

void Measurer::leave() {
  left_.push_back({std::move(under_way_->measurement), under_way_->batch, false});
  under_way_.reset();
}

Result<std::vector<Measurement>> Measurer::take_left() {
  const bool unfetched = std::any_of(left_.begin(), left_.end(), [](const Left& left) { return left.unfetched > 0; });
  if (unfetched) [[maybe_unused]]
    auto none = take_times();
  if (std::any_of(left_.begin(), left_.end(), [](const Left& left) { return !left.clocks_read; })) read_clocks();
  std::vector<Measurement> measurements;
  for (Left& left : std::exchange(left_, {})) measurements.push_back(std::move(left.measurement));
  MNEME_TRY(std::exchange(left_lost_, {}));
  return measurements;
}

// Of what is under way. What was left before it gets its own.
Result<std::vector<Nanoseconds>> Measurer::take_times() {
  auto times = stream_.take_times();
  if (times.ok() && !times->empty()) last_time_ = times->back();
  size_t used = 0;
  for (Left& left : left_) {
    const size_t count = std::exchange(left.unfetched, 0);
    if (count == 0) continue;
    if (times.ok() && used + count > times->size())
      times = error(Code::internal, "timing launches: there are times of {} of them only", times->size());
    if (!times.ok()) {
      left_lost_ = times.status();
      continue;
    }
    const auto first = times->begin() + static_cast<std::ptrdiff_t>(used);
    left.measurement.times.assign(first, first + static_cast<std::ptrdiff_t>(count));
    used += count;
  }
  if (times.ok()) times->erase(times->begin(), times->begin() + static_cast<std::ptrdiff_t>(used));
  return times;
}

// One reading is the last of what was left and the first of what begins.
void Measurer::read_clocks() {
  const std::optional<ClockReading> reading = device_.read_clocks();
  for (Left& left : left_)
    if (!std::exchange(left.clocks_read, true) && reading) add_reading(left.measurement.clocks, *reading);
  if (under_way_ && reading) add_reading(under_way_->measurement.clocks, *reading);
}

}  // namespace mneme
