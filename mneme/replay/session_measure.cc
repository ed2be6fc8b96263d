#include <algorithm>

#include "mneme/base/activity.h"
#include "mneme/replay/session.h"
#include "mneme/replay/stage_clock.h"

namespace mneme {
namespace {

// Of a restored run. The runs of a candidate that is this short are all started before the first is waited for: one that is wrong
// then costs some runs more, and one that is right some waits less.
constexpr std::chrono::milliseconds kShortRun(5);

}  // namespace

MeasuredLaunch Session::measured_launch(const Loaded& loaded, const ReplayResult& result) {
  return {*loaded.kernel,
          *result.shape,
          instance_.parameters,
          [&] { return restore(loaded, start()); },
          [&] { return memory_->read_through(loaded.symbols); },
          run_time_};
}

Status Session::restore(const Loaded& loaded, PreparedMemory::From from) {
  MNEME_TRY(loaded.own_state->put_back(*stream_));
  return memory_->restore(loaded.symbols, from);
}

Status Session::rehearse() {
  const auto run_and_time = [&]() -> Status {
    MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
    MNEME_ASSIGN(const Loaded recorded, recorded_launch());
    ReplayResult run;
    run.shape = recorded_shape(instance_);
    memory_->distrust();
    MNEME_TRY(run_once(recorded, run));
    return measurer_->measure({.iterations = 1}, measured_launch(recorded, run)).status();
  };
  const Status status = run_and_time();
  memory_->distrust();
  return status.code() == Code::device_fault ? status : Status();
}

Status Session::start_verified_run(const Loaded& loaded, const LaunchShape& shape, bool timed) {
  MNEME_TRY(restore(loaded, start()));
  return timed ? stream_->launch_timed(*loaded.kernel, shape, instance_.parameters)
               : stream_->launch(*loaded.kernel, shape, instance_.parameters);
}

Status Session::run_once(const Loaded& loaded, ReplayResult& result) {
  StageClock clock;
  MNEME_TRY(restore(loaded, start()));
  MNEME_TRY(stream_->synchronize());
  result.times.push_back({"restore", clock.lap()});
  run_time_ = result.times.back().time;
  MNEME_TRY(launch_and_wait(loaded, *result.shape));
  result.executed = true;
  result.times.push_back({"run", clock.lap()});
  run_time_ += result.times.back().time;
  return {};
}

Status Session::launch_and_wait(const Loaded& loaded, const LaunchShape& shape) {
  ActivityScope running(Activity::running);
  MNEME_TRY(stream_->launch(*loaded.kernel, shape, instance_.parameters));
  return stream_->synchronize();
}

Status Session::run_and_time(const Execution& execution, const RunWatch& watch, const Loaded& loaded, const Tolerated& tolerated,
                             ReplayResult& result) {
  const bool at_once = execution.stop != StopWhen::time && tolerated.empty() && run_time_.count() > 0 && run_time_ <= kShortRun;
  if (at_once) return run_at_once(execution, watch, loaded, result);
  MNEME_TRY(run_once(loaded, result));
  StageClock clock;
  MNEME_TRY(verify(loaded, tolerated, result));
  result.times.push_back({"verify", clock.lap()});

  MNEME_ASSIGN(result.occupancy, occupancy_of(*loaded.kernel, *result.shape, device_.properties()));
  if (watch.verified && !watch.verified(result)) return {};
  if (!result.verified) return {};
  MNEME_ASSIGN(Measurement measured, measurer_->measure(execution, measured_launch(loaded, result), watch));
  put(std::move(measured), result);
  result.times.push_back({"timed_runs", clock.lap()});
  // What was timed is what was verified: the last timed run must have left it right too.
  if (!result.exec_time.empty()) MNEME_TRY(verify(loaded, tolerated, result));
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
  memory_->trust();
  MNEME_TRY(memory_->check_later(loaded.symbols));
  const MeasuredLaunch launch = measured_launch(loaded, result);
  MNEME_ASSIGN(const unsigned started, measurer_->begin(execution, launch, watch, counted));
  if (started != 0) MNEME_TRY(memory_->check_later(loaded.symbols));
  const Nanoseconds starting = clock.lap();
  result.times.push_back({"start", starting});
  // Asked once the launch has been found to be possible.
  MNEME_ASSIGN(result.occupancy, occupancy_of(*loaded.kernel, *result.shape, device_.properties()));
  if (watch.waiting) watch.waiting();
  result.times.push_back({"meanwhile", clock.lap()});
  MNEME_ASSIGN(std::vector<PreparedMemory::Check> checks, memory_->take_checks());
  result.executed = true;
  const Nanoseconds waiting = clock.lap();
  result.times.push_back({"run", waiting});
  run_time_ = (starting + waiting) / (1 + execution.warm_up + started);

  if (!checks.front().equal) {
    measurer_->forget();
    return show_wrong_run(checks.front(), loaded, result);
  }
  result.verified = true;
  if (watch.verified && !watch.verified(result)) {
    measurer_->forget();
    return {};
  }
  if (checks.back().equal && measurer_->can_leave() && watch.leave_times && watch.leave_times()) {
    measurer_->leave();
    return {};
  }
  MNEME_ASSIGN(Measurement measured, measurer_->finish());
  put(std::move(measured), result);
  result.times.push_back({"timed_runs", clock.lap()});
  if (result.exec_time.size() > counted + started) {
    MNEME_TRY(verify(loaded, {}, result));
  } else if (!checks.back().equal) {
    MNEME_ASSIGN(Verification verification, memory_->judge(checks.back(), loaded.symbols, {}));
    put(std::move(verification), result);
  }
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
Status Session::show_wrong_run(const PreparedMemory::Check& wrong, const Loaded& loaded, ReplayResult& result) {
  memory_->distrust();
  MNEME_TRY(run_once(loaded, result));
  MNEME_TRY(verify(loaded, {}, result));
  if (!std::exchange(result.verified, false)) return {};
  result.mismatches.push_back({"a run that another of the same code was not like", wrong.first, kBlock, 0, 0, std::nullopt});
  return {};
}

void Session::put(Measurement measured, ReplayResult& result) {
  result.exec_time = std::move(measured.times);
  result.clock = measured.clock;
  result.clocks = std::move(measured.clocks);
}

void Session::put(Verification verification, ReplayResult& result) {
  result.verified = verification.right();
  result.mismatches = std::move(verification.mismatches);
  result.tolerances = std::move(verification.tolerances);
}

Status Session::verify(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) {
  MNEME_ASSIGN(Verification verification, memory_->verify(loaded.symbols, tolerated));
  put(std::move(verification), result);
  return {};
}

}  // namespace mneme
