// Blame: which job is charged with the loss of a worker, and what becomes of the other jobs that the worker had.
//
// A job is charged with whatever happens to the process from the moment it begins until the next job begins. A crash while the
// object of a later job is being loaded is charged to that one, since what runs on a device crashes no process. No job is charged
// where none was under way, where several were assembled together, or where the worker had sent the failure for which it ended.
#pragma once

#include <optional>
#include <vector>

#include "mneme/pool/limits.h"
#include "mneme/pool/pool_result.h"
#include "mneme/pool/pool_worker.h"

namespace mneme {

// A job that has not begun is given to another worker when its worker is lost and no job is charged. At the loss that makes this
// many it fails as worker_lost.
inline constexpr unsigned kMostUnexplainedLosses = 3;

// The jobs of a worker that was lost, each in one of these.
struct LostJobs {
  std::optional<JobId> charged;
  // Others that ran with it, whose results had not come, or that are translated and not assembled. They are measured, or
  // compiled, again, each alone, so that they are lost once at most.
  std::vector<JobId> to_run_alone;
  // Those that had not begun. They are given to another worker.
  std::vector<JobId> to_give_again;
  // Whether the cause of the loss is known, a job or a failure that the worker sent. If not, it counts against those that are
  // given again (Job::losses).
  bool explained = false;
};
LostJobs divide_jobs(const PoolWorker& lost, const WorkerEnd& end);

// The result of the job that is charged: its failure, and the reason in words.
PoolResult result_of_loss(const PoolWorker& lost, const WorkerEnd& end, const WorkerLimits& limits);

// A result of a job that failed without a replay. Bytes of `reason` that are no UTF-8 are replaced.
PoolResult failed_result(Failure kind, const std::string& reason);

}  // namespace mneme
