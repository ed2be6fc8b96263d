// Which job is charged with the loss of a worker, and what becomes of the others that it had.
//
// A job is charged with whatever happens to the process from the moment it begins until the next one begins; and with a crash
// while its object was being loaded, since what runs on a device crashes no process. Nobody is charged where no job was under
// way, or where the worker had sent the failure for which it ended.
#pragma once

#include <optional>
#include <vector>

#include "mneme/pool/limits.h"
#include "mneme/pool/pool_result.h"
#include "mneme/pool/pool_worker.h"

namespace mneme {

// A job is given to another worker so often when workers were lost before it began and no job was charged.
inline constexpr unsigned kMostUnexplainedLosses = 3;

// The jobs of a worker that was lost, each in one of these.
struct LostJobs {
  std::optional<JobId> charged;
  // Others that ran with it, whose results had not come. They are measured again, each alone, so that they are lost once at most.
  std::vector<JobId> to_run_alone;
  // Those that had not begun. They are given to another worker.
  std::vector<JobId> to_give_again;
  // Whether the loss has been put down to something: then it does not count against those that are given again.
  bool explained = false;
};
LostJobs divide_jobs(const PoolWorker& lost, const WorkerEnd& end);

// The result of the job that is charged: its failure and the reason.
PoolResult result_of_loss(const PoolWorker& lost, const WorkerEnd& end, const WorkerLimits& limits);

// A result that says why there is none. Its reason is valid UTF-8, whatever words of a candidate are in `reason`.
PoolResult failed_result(Failure kind, const std::string& reason);

}  // namespace mneme
