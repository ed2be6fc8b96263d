#include <algorithm>

#include "mneme/base/activity.h"
#include "mneme/measure/stage_clock.h"
#include "mneme/replay/fault_words.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

// Of a restored run. The runs of a candidate that is this short are all started before the first is waited for: one that is wrong
// then costs some runs more, and one that is right some waits less.
constexpr std::chrono::milliseconds kShortRun(5);

}  // namespace

MeasuredLaunch Session::measured_launch(const Loaded& loaded, const ReplayResult& result, std::optional<RestoredRun>& run) {
  const auto restore_for_next = [&]() -> Status {
    if (run) return restore_again(loaded, *run);
    MNEME_ASSIGN(RestoredRun restored, restore(loaded, start()));
    run.emplace(std::move(restored));
    return {};
  };
  return {*loaded.kernel,
          *result.shape,
          memory_->parameters(),
          restore_for_next,
          [&] { return memory_->read_through(loaded.symbols); },
          run_time_};
}

Result<RestoredRun> Session::restore(const Loaded& loaded, StartState start) {
  MNEME_TRY(loaded.own_state->put_back(*stream_));
  return memory_->restore(loaded.symbols, start);
}

Status Session::restore_again(const Loaded& loaded, RestoredRun& run) {
  MNEME_TRY(loaded.own_state->put_back(*stream_));
  return run.restore_again();
}

Status Session::rehearse() {
  const auto run_and_time = [&]() -> Status {
    MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
    MNEME_ASSIGN(const Loaded recorded, recorded_launch());
    ReplayResult run;
    run.shape = recorded_shape(instance_);
    MNEME_TRY(run_once(recorded, run).status());
    std::optional<RestoredRun> timed;
    return measurer_->measure({.iterations = 1}, measured_launch(recorded, run, timed)).status();
  };
  const Status status = run_and_time();
  return status.code() == Code::device_fault ? mention_lacking_memory(status, instance_) : Status();
}

Status Session::start_verified_run(const Loaded& loaded, const LaunchShape& shape, bool timed) {
  MNEME_ASSIGN(RestoredRun run, restore(loaded, start()));
  MNEME_TRY(timed ? stream_->launch_timed(*loaded.kernel, shape, memory_->parameters())
                  : stream_->launch(*loaded.kernel, shape, memory_->parameters()));
  return std::move(run).check_later();
}

Result<RestoredRun> Session::run_once(const Loaded& loaded, ReplayResult& result) {
  StageClock clock;
  MNEME_ASSIGN(RestoredRun restored, restore(loaded, start()));
  MNEME_TRY(stream_->synchronize());
  result.times.push_back({"restore", clock.lap()});
  run_time_ = result.times.back().time;
  MNEME_TRY(launch_and_wait(loaded, *result.shape));
  result.executed = true;
  result.times.push_back({"run", clock.lap()});
  run_time_ += result.times.back().time;
  return restored;
}

Status Session::launch_and_wait(const Loaded& loaded, const LaunchShape& shape) {
  ActivityScope running(Activity::running);
  MNEME_TRY(stream_->launch(*loaded.kernel, shape, memory_->parameters()));
  return stream_->synchronize();
}

Status Session::run_and_time(const Execution& execution, const RunWatch& watch, const Loaded& loaded, const Tolerated& tolerated,
                             ReplayResult& result) {
  const bool at_once = execution.stop != StopWhen::time && tolerated.empty() && run_time_.count() > 0 && run_time_ <= kShortRun;
  if (at_once) return run_at_once(execution, watch, loaded, result);
  MNEME_ASSIGN(RestoredRun run, run_once(loaded, result));
  StageClock clock;
  MNEME_TRY(verify(std::move(run), loaded, tolerated, result));
  result.times.push_back({"verify", clock.lap()});

  MNEME_ASSIGN(result.occupancy, occupancy_of(*loaded.kernel, *result.shape, device_.properties()));
  if (watch.verified && !watch.verified(result)) return {};
  if (!result.verified) return {};
  std::optional<RestoredRun> timed;
  MNEME_ASSIGN(Measurement measured, measurer_->measure(execution, measured_launch(loaded, result, timed), watch.timed));
  put(std::move(measured), result);
  result.times.push_back({"timed_runs", clock.lap()});
  // What was timed is what was verified: the last timed run must have left it right too.
  if (timed) MNEME_TRY(verify(*std::move(timed), loaded, tolerated, result));
  if (!result.verified) result.exec_time.clear();
  return {};
}

// Everything is started, and waited for once.
Status Session::run_at_once(const Execution& execution, const RunWatch& watch, const Loaded& loaded, ReplayResult& result) {
  StageClock clock;
  ActivityScope running(Activity::running);
  MNEME_ASSIGN(result.verified_run_timed, measurer_->may_count_first(execution));
  const unsigned counted = result.verified_run_timed ? 1 : 0;
  MNEME_TRY(start_verified_run(loaded, *result.shape, result.verified_run_timed));
  std::optional<RestoredRun> timed;
  const MeasuredLaunch launch = measured_launch(loaded, result, timed);
  MNEME_ASSIGN(const unsigned started, measurer_->begin(execution, launch, watch.timed, counted));
  const size_t started_checks = timed ? 2 : 1;
  if (timed) MNEME_TRY(std::move(*timed).check_later());
  timed.reset();
  const Nanoseconds starting = clock.lap();
  result.times.push_back({"start", starting});
  // Asked once the launch has been found to be possible.
  MNEME_ASSIGN(result.occupancy, occupancy_of(*loaded.kernel, *result.shape, device_.properties()));
  if (watch.waiting) watch.waiting();
  const bool followed = watch.followed && watch.followed();
  // What fails of it is the next one's, which restores all then; a fault of these runs is told by their checks.
  if (followed) [[maybe_unused]]
    Status of_the_next = memory_->restore_ahead(start());
  result.times.push_back({"meanwhile", clock.lap()});
  MNEME_ASSIGN(const std::vector<CheckedRun> checks, memory_->take_checks());
  if (checks.size() != started_checks)
    return error(Code::internal, "{} runs were to be checked, and {} were", started_checks, checks.size());
  result.executed = true;
  const Nanoseconds waiting = clock.lap();
  result.times.push_back({"run", waiting});
  run_time_ = (starting + waiting) / (1 + execution.warm_up + started);

  if (!checks.front().equal) {
    measurer_->forget();
    return show_wrong_run(checks.front(), loaded, result);
  }
  // Now, while memory is as the last of these launches left it: more of them would be of another run.
  if (!checks.back().equal) {
    measurer_->forget();
    if (followed) return show_wrong_end(checks.back(), execution, watch, loaded, result);
    MNEME_ASSIGN(Verification verification, judge(*memory_, checks.back(), loaded.symbols, {}));
    put(std::move(verification), result);
    return {};
  }
  result.verified = true;
  if (watch.verified && !watch.verified(result)) {
    measurer_->forget();
    return {};
  }
  if (measurer_->can_leave() && watch.leave_times && watch.leave_times()) {
    measurer_->leave();
    return {};
  }
  MNEME_ASSIGN(Measurement measured, measurer_->finish());
  put(std::move(measured), result);
  result.times.push_back({"timed_runs", clock.lap()});
  if (timed) MNEME_TRY(verify(*std::move(timed), loaded, {}, result));  // launches that were started since
  if (!result.verified) result.exec_time.clear();
  return {};
}

Status Session::add_left_times(std::span<ReplayResult* const> results) {
  StageClock clock;
  MNEME_ASSIGN(std::vector<Measurement> measured, measurer_->take_left());
  if (measured.size() != results.size())
    return error(Code::internal, "{} results were left without times, and {} are to get them", measured.size(), results.size());
  const Nanoseconds share = clock.lap() / static_cast<double>(std::max<size_t>(results.size(), 1));
  for (size_t i = 0; i < results.size(); ++i) {
    put(std::move(measured[i]), *results[i]);
    results[i]->times.push_back({"timed_runs", share});
  }
  return {};
}

// The memory that the wrong run left is gone: another is made to be looked at.
Status Session::show_wrong_run(const CheckedRun& wrong, const Loaded& loaded, ReplayResult& result) {
  MNEME_ASSIGN(RestoredRun run, run_once(loaded, result));
  MNEME_TRY(verify(std::move(run), loaded, {}, result));
  if (!std::exchange(result.verified, false)) return {};
  tell_unlike(wrong, result);
  return {};
}

// What the last of the launches left is gone, since memory was restored behind it: as many are made once more, and nothing
// follows.
Status Session::show_wrong_end(const CheckedRun& wrong, const Execution& execution, const RunWatch& watch, const Loaded& loaded,
                               ReplayResult& result) {
  RunWatch once_more;
  once_more.verified = [](const ReplayResult&) { return false; };  // no more than that, and no times
  once_more.timed = watch.timed;
  MNEME_TRY(run_at_once(execution, once_more, loaded, result));
  if (!std::exchange(result.verified, false)) return {};
  result.exec_time.clear();
  tell_unlike(wrong, result);
  return {};
}

void Session::tell_unlike(const CheckedRun& wrong, ReplayResult& result) {
  result.mismatches.push_back({"a run that another of the same code was not like", wrong.first, kBlock, 0, 0, std::nullopt});
}

void Session::put(Measurement measured, ReplayResult& result) {
  result.exec_time = std::move(measured.times);
  result.clock_source = measured.clock.source;
  result.clock_remark = measured.clock.remark;
  result.clocks = std::move(measured.clocks);
}

void Session::put(Verification verification, ReplayResult& result) {
  result.verified = verification.right();
  result.mismatches = std::move(verification.mismatches);
  result.tolerances = std::move(verification.tolerances);
}

Status Session::verify(RestoredRun&& run, const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) {
  MNEME_ASSIGN(const CheckedRun checked, std::move(run).check());
  MNEME_ASSIGN(Verification verification, judge(*memory_, checked, loaded.symbols, tolerated));
  put(std::move(verification), result);
  return {};
}

}  // namespace mneme
