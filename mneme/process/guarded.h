// Runs a piece of work in a child process, so that work which hangs, crashes or is killed does not take this process along.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mneme/base/activity.h"
#include "mneme/base/status.h"

namespace mneme {

// What the child may take. Zero: no limit.
struct GuardLimits {
  using Seconds = std::chrono::duration<double>;
  Seconds compiling{};     // for one stay at Activity::compiling
  Seconds running{};       // for one launch: Activity::running; timing and tracking get their allowance in addition
  Seconds loading{};       // for one stay at Activity::loading
  Bytes compile_memory{};  // limit_compile_memory()
};

// How the child ended.
struct GuardedEnd {
  enum class How {
    finished,     // `reply` is what the work returned
    out_of_time,  // it stayed longer at `activity` than `limit`, and was killed
    signalled,    // it ended by signal `number` at `activity`: a crash, or somebody killed it
    exited,       // it exited with status `number` at `activity` before the work was done
    interrupted,  // this process was sent signal `number` (SIGINT, SIGTERM, SIGHUP or SIGQUIT), and the child was killed
  };
  How how = How::finished;
  int number = 0;
  Activity activity = Activity::working;
  GuardLimits::Seconds limit{};  // the one that ran out, with the allowance
  std::string reply;
};

// Forks, runs `work` in the child, waits, and returns how the child ended. Whatever happens, the child and the programs that it
// started (its process group) are gone on return. The child leaves no core file, is killed when this process ends, and stops and
// continues with it. The calling process must have one thread, and must not have opened a device yet.
// io: no child could be made. exhausted: there was no memory to share with it.
Result<GuardedEnd> run_guarded(const GuardLimits& limits, const std::function<std::string()>& work);

}  // namespace mneme
