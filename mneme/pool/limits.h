// When a worker's time is over, and how many workers may fail to start: the limits that a pool holds its workers to. No clock is
// read here: whoever asks says what time it is.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/pool/messages.h"
#include "mneme/pool/pool.h"
#include "mneme/process/child.h"

namespace mneme {

using PoolClock = std::chrono::steady_clock;
using PoolTime = PoolClock::time_point;

// Later than any time that comes.
inline constexpr PoolTime kNever = PoolTime::max();

class WorkerLimits {
 public:
  // A worker's process may go on for that long after it has closed its connection, as it does while a driver takes its device
  // back.
  static constexpr std::chrono::seconds kClosing{5};
  // The zygote has that long to end a worker that is to be killed, and to say so.
  static constexpr std::chrono::seconds kKilling{20};

  explicit WorkerLimits(const PoolLimits& limits) : limits_(limits) {}

  PoolTime end_of_start(PoolTime now) const { return after(limits_.starting, now); }
  // Of one job, from its start or from the last sign of life of it.
  PoolTime end_of_job(WorkerRole role, PoolTime now) const { return after(of_job(role), now); }
  static PoolTime end_of_closing(PoolTime now) { return now + kClosing; }
  static PoolTime end_of_killing(PoolTime now) { return now + kKilling; }

  PoolLimits::Seconds of_start() const { return limits_.starting; }
  PoolLimits::Seconds of_job(WorkerRole role) const { return role == WorkerRole::compile ? limits_.compiling : limits_.running; }

 private:
  // kNever where the limit is longer than ten years.
  static PoolTime after(PoolLimits::Seconds limit, PoolTime now);

  PoolLimits limits_;
};

// How a worker's process ended.
struct WorkerEnd {
  ProcessEnd process;
  std::string not_forked;  // why there was no process at all; empty: there was one
  std::string last_words;  // the telling line of its standard error (last_words.h)

  // "ended by signal 11 (Segmentation fault), after 'LLVM ERROR: …'"
  std::string describe() const;
};
inline constexpr char kSomebodyKilledIt[] = ": somebody killed it, or the system did because memory ran out";

// Workers that ended before they were ready, counted for each role and device from the last that did become ready.
class FailedStarts {
 public:
  // One that somebody killed says less of the next one than one that ended by itself.
  static constexpr unsigned kMost = 3, kMostKilled = 20;

  // Counts one. `why` is what the worker or the pool knows about it; empty: only the end of its process tells. unavailable:
  // there have been too many in a row.
  Status count(WorkerRole role, int device, const std::string& why, const WorkerEnd& end);
  void forget(WorkerRole role, int device) { counts_.erase({role, device}); }

 private:
  struct Counts {
    unsigned by_themselves = 0, killed = 0;
  };
  std::map<std::pair<WorkerRole, int>, Counts> counts_;
};

}  // namespace mneme
