// The limits that a pool holds its workers to: when a worker's time is over, and how many workers may fail to start. No clock is
// read here; the caller passes the present time.
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

// Stands for no deadline: it is later than any time that comes.
inline constexpr PoolTime kNever = PoolTime::max();

class WorkerLimits {
 public:
  // How long a worker's process may go on after it has closed its connection, as it does while a driver takes its device back.
  static constexpr std::chrono::seconds kClosing{5};
  // How long the zygote may take to end a worker that is to be killed, and to say so.
  static constexpr std::chrono::seconds kKilling{20};

  explicit WorkerLimits(const PoolLimits& limits) : limits_(limits) {}

  // The deadlines that begin now: of a worker that starts,
  PoolTime end_of_start(PoolTime now) const { return after(limits_.starting, now); }
  // of one job, which begins or has given a sign of life,
  PoolTime end_of_job(WorkerRole role, PoolTime now) const { return after(of_job(role), now); }
  // of a process that has closed its connection, and of one that is killed.
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
  JobId began = 0;         // the job that it noted last as begun (last_words.h); 0: none

  // "ended by signal 11 (Segmentation fault), after 'LLVM ERROR: …'"
  std::string describe() const;
};
inline constexpr char kSomebodyKilledIt[] = ": somebody killed it, or the system did because memory ran out";

// Counts workers that ended before they were ready, in a row: for each role and device, since one last became ready.
class FailedStarts {
 public:
  // How many make the pool give up: of workers that ended by themselves, and of workers that somebody killed, which says less
  // about the next one.
  static constexpr unsigned kMost = 3, kMostKilled = 20;

  // Counts one more. `why` is what the worker or the pool knows of the reason; empty: only the end of its process tells.
  // unavailable: there have been too many in a row.
  Status count(WorkerRole role, int device, const std::string& why, const WorkerEnd& end);
  // One has become ready.
  void forget(WorkerRole role, int device) { counts_.erase({role, device}); }

 private:
  struct Counts {
    unsigned by_themselves = 0, killed = 0;
  };
  std::map<std::pair<WorkerRole, int>, Counts> counts_;
};

}  // namespace mneme
