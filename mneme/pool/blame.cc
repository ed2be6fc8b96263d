#include "mneme/pool/blame.h"

#include <algorithm>

#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Cause = PoolWorker::Cause;

bool pool_ended_it(const PoolWorker& lost) { return lost.cause() == Cause::out_of_time || lost.cause() == Cause::broken; }

JobId charged_job(const PoolWorker& lost, const WorkerEnd& end) {
  const auto& jobs = lost.jobs();
  const bool crashed = !pool_ended_it(lost) && end.process.crashed();
  const bool was_loading = std::find(jobs.begin(), jobs.end(), lost.loading()) != jobs.end();
  return crashed && was_loading ? lost.loading() : jobs.front();
}

}  // namespace

LostJobs divide_jobs(const PoolWorker& lost, const WorkerEnd& end) {
  LostJobs divided;
  divided.to_run_alone.assign(lost.awaited().begin(), lost.awaited().end());
  divided.to_give_again.assign(lost.jobs().begin(), lost.jobs().end());
  divided.explained = lost.cause() == Cause::announced || lost.is_joined();
  const bool to_charge = lost.is_running() || pool_ended_it(lost);
  if (lost.jobs().empty() || divided.explained || !to_charge) return divided;
  divided.explained = true;
  divided.charged = charged_job(lost, end);
  const JobId first = lost.jobs().front();
  if (divided.charged != first) {
    divided.to_run_alone.push_back(first);
    std::erase(divided.to_give_again, first);
  }
  std::erase(divided.to_give_again, *divided.charged);
  return divided;
}

PoolResult result_of_loss(const PoolWorker& lost, const WorkerEnd& end, const WorkerLimits& limits) {
  const bool compiles = lost.role() == WorkerRole::compile;
  if (lost.cause() == Cause::out_of_time) {
    const double limit = limits.of_job(lost.role()).count();
    if (compiles)
      return failed_result(Failure::compile_timeout, fmt::format("compiling took longer than {} s, and was ended", limit));
    return failed_result(Failure::run_timeout, fmt::format("the kernel ran longer than {} s, and was ended", limit));
  }
  if (lost.cause() == Cause::broken)
    return failed_result(compiles ? Failure::compile_error : Failure::device_fault,
                         fmt::format("{} broke its connection with the pool, and was ended",
                                     compiles ? "the compiler's process" : "the process that ran the kernel"));
  if (end.process.was_killed())
    return failed_result(Failure::worker_lost, fmt::format("the worker {}{}", end.process.describe(), kSomebodyKilledIt));
  if (compiles) return failed_result(Failure::compile_error, fmt::format("the compiler crashed: its process {}", end.describe()));
  return failed_result(Failure::device_fault, fmt::format("the process that ran the kernel {}", end.describe()));
}

PoolResult failed_result(Failure kind, const std::string& reason) {
  PoolResult result;
  result.failure = kind;
  result.reason = valid_utf8(reason);
  return result;
}

}  // namespace mneme
