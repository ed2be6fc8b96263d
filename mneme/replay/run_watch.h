// RunWatch: what a caller of Session::measure() wants to be asked and told while a replay runs.
#pragma once

#include <functional>

#include "mneme/measure/measurement.h"

namespace mneme {

struct ReplayResult;

// Each function may be unset. All are called by the thread that replays.
struct RunWatch {
  // Called with the verdict on the first run, before its times are taken. False: the result has no times. Where the runs are
  // short all are started together; then it is called only if all of them were right.
  std::function<bool(const ReplayResult& so_far)> verified;
  // Called with times as they come; see SeeTimes. False ends the replay with the times that there are.
  SeeTimes timed;

  // Only where all runs are started together: they are started now, and the device is busy with them, so that the caller can do
  // something else meanwhile, such as Session::load_ahead().
  std::function<void()> waiting;

  // Only where all runs are started together, after `waiting`: whether another configuration is measured next, and nothing else
  // before it. True: memory is restored for it behind these runs, so that the device has that to do until it is launched.
  std::function<bool()> followed;

  // Only where all runs are started together: every run has ended and was right, and nothing depends on their times. True: the
  // result is returned at once without times, and Session::add_left_times() adds them later.
  std::function<bool()> leave_times;
};

}  // namespace mneme
