// RunWatch: who looks at a replay while it runs, and may end it early.
#pragma once

#include <functional>

#include "mneme/measure/measurement.h"

namespace mneme {

struct ReplayResult;

// What is not set is not asked. Called by the thread that replays.
struct RunWatch {
  // The run that is verified is done, with the verdict on it. False: nothing is timed.
  std::function<bool(const ReplayResult& so_far)> verified;
  SeeTimes timed;

  // All that can be started is, and the device is busy with it: the caller can do something else for that long.
  std::function<void()> waiting;

  // Every run has ended and was right, and nothing depends on the times. True: the result comes without them, at once, and
  // Session::add_left_times() adds them later.
  std::function<bool()> leave_times;
};

}  // namespace mneme
