#include "mneme/pool/pool_worker.h"

#include <algorithm>

namespace mneme {
namespace {

// What a device worker has at hand takes so long together, so that it has work while the pool's thread waits for a core.
constexpr std::chrono::milliseconds kAtHand(10);

bool holds(const std::deque<JobId>& jobs, JobId job) { return std::find(jobs.begin(), jobs.end(), job) != jobs.end(); }

}  // namespace

void JobPace::job_began(PoolTime now) {
  const PoolTime before = std::exchange(last_began_, now);
  if (before == PoolTime()) return;
  a_job_ = a_job_ == PoolClock::duration::zero() ? now - before : (7 * a_job_ + (now - before)) / 8;
}

size_t JobPace::depth() const {
  if (a_job_ == PoolClock::duration::zero()) return kLeast;
  return std::clamp(static_cast<size_t>(kAtHand / a_job_), kLeast, kMost);
}

bool PoolWorker::become_ready() {
  started_ = true;
  if (state_ != State::starting) return false;
  state_ = State::serving;
  deadline_ = kNever;
  return true;
}

bool PoolWorker::expect_end() {
  cause_ = Cause::announced;
  if (state_ != State::serving) return false;
  state_ = State::ending;
  return true;
}

bool PoolWorker::disconnect(PoolTime now) {
  if (state_ != State::serving || jobs_.empty()) return false;
  state_ = State::disconnected;
  deadline_ = WorkerLimits::end_of_closing(now);
  return true;
}

bool PoolWorker::kill(Cause cause, PoolTime now) {
  if (state_ == State::killed) return false;
  is_garbled_ = cause == Cause::broken && state_ != State::disconnected;
  state_ = State::killed;
  if (cause_ == Cause::unknown) cause_ = cause;
  deadline_ = WorkerLimits::end_of_killing(now);
  return true;
}

void PoolWorker::extend_to(PoolTime deadline) {
  if (state_ != State::killed) deadline_ = deadline;
}

bool PoolWorker::has(JobId job) const { return holds(jobs_, job) || holds(awaited_, job); }

bool PoolWorker::has_room(size_t compile_depth) const {
  return state_ == State::serving && (role_ == WorkerRole::compile ? load() < compile_depth : jobs_.size() < pace_.depth());
}

void PoolWorker::give(JobId job, PoolTime now) {
  if (load() == 0) busy_since_ = now;
  jobs_.push_back(job);
}

void PoolWorker::begin(JobId job, PoolTime now) {
  const auto begun = std::find(jobs_.begin(), jobs_.end(), job);
  if (begun == jobs_.end()) return;
  pace_.job_began(now);
  awaited_.insert(awaited_.end(), jobs_.begin(), begun);
  jobs_.erase(jobs_.begin(), begun);
  began_ = true;
  joined_ = false;
}

void PoolWorker::note_began(JobId job, PoolTime now) {
  const bool told = began_ && !jobs_.empty() && jobs_.front() == job;
  if (told || is_garbled_ || !holds(jobs_, job)) return;
  set_loading(0);
  begin(job, now);
}

void PoolWorker::join(JobId job) {
  const auto last = std::find(jobs_.begin(), jobs_.end(), job);
  if (last != jobs_.end()) {
    awaited_.insert(awaited_.end(), jobs_.begin(), last + 1);
    jobs_.erase(jobs_.begin(), last + 1);
  }
  began_ = false;
  joined_ = true;
}

PoolClock::duration PoolWorker::end(JobId job, PoolTime now) {
  if (!jobs_.empty() && jobs_.front() == job) began_ = false;
  std::erase(jobs_, job);
  std::erase(awaited_, job);
  joined_ = joined_ && !awaited_.empty();
  return now - std::exchange(busy_since_, now);
}

void PoolWorker::drop_jobs() {
  jobs_.clear();
  awaited_.clear();
}

}  // namespace mneme
