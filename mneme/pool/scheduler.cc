// The scheduler's life and its jobs: how they come, what they share, and how they end. Workers are in scheduler_workers.cc.
#include "mneme/pool/scheduler.h"

#include <algorithm>
#include <utility>

namespace mneme {
namespace {

// How often the first of the jobs to be compiled may be passed over for another one, which suits a worker better.
constexpr unsigned kMostPassedOver = 64;

}  // namespace

Scheduler::Scheduler(const PoolOptions& options, const std::map<Digest, PoolResult>& known)
    : devices_(options.devices),
      compile_workers_(options.compile_workers),
      instances_(options.instances.size()),
      known_(known),
      sharing_(options.share),
      limits_(options.limits) {
  sharing_.remember(known);
}

void Scheduler::start(PoolTime now) {
  for (int device : devices_) start_worker(WorkerRole::device, device, now);
}

std::vector<Command> Scheduler::take_commands() { return std::exchange(commands_, {}); }

void Scheduler::submit(std::map<JobId, Job> jobs) {
  if (jobs.empty()) return;
  const JobId first = jobs.begin()->first;
  jobs_.merge(jobs);  // which takes no memory: none is lost
  for (auto next = jobs_.lower_bound(first); next != jobs_.end();) {
    const auto& [id, job] = *next++;
    if (life_ == Life::closed) {
      finish(id, failed_result(Failure::cancelled, status_.to_string()));
      continue;
    }
    const bool asked = job.label.empty() && !known_.empty();
    const auto known = asked ? known_.find(whole_digest(job.configuration)) : known_.end();
    if (known != known_.end())
      finish(id, known->second);
    else if (life_ == Life::given_up)
      finish(id, failed_result(Failure::worker_lost, status_.to_string()));
    else
      to_compile_.push_back(id);
  }
}

// What a compile worker has comes back soon, and is cancelled then.
void Scheduler::cancel(std::span<const JobId> jobs) {
  // All are marked before the first has ended: none is to take over what another one was waiting for.
  for (JobId id : jobs)
    if (Job* job = find(id)) job->cancelled = true;
  for (JobId id : jobs) {
    Job* job = find(id);
    if (!job) continue;
    if (!job->at_worker) {
      finish_measurement(*job, failed_result(Failure::cancelled, "given up before it was measured"));
      continue;
    }
    for (auto& [worker_id, worker] : workers_) {
      const auto& at_hand = worker.jobs();
      if (worker.role() != WorkerRole::device || std::find(at_hand.begin(), at_hand.end(), id) == at_hand.end()) continue;
      if (!std::exchange(job->told_to_stop, true)) commands_.emplace_back(SendToWorker{worker_id, StopJob{id}});
    }
  }
}

// True: a compile worker is to have it. Else it is elsewhere now, or has ended.
bool Scheduler::needs_compiler(Job& job) {
  if (job.cancelled) {  // while a worker that was lost had it
    finish_measurement(job, failed_result(Failure::cancelled, "given up before it was measured"));
    return false;
  }
  identify(job);  // not when it is submitted: a hundred thousand may be at once
  NextStep step = sharing_.before_compiling(job);
  if (step.kind == NextStep::Kind::compile) return true;
  proceed(job, std::move(step));
  return false;
}

void Scheduler::proceed(Job& job, NextStep step) {
  switch (step.kind) {
    case NextStep::Kind::compile: return to_compile_.push_back(job.id);
    case NextStep::Kind::wait: return;
    case NextStep::Kind::code: return has_code(job, sharing_.code_of(job));
    case NextStep::Kind::measure: return to_measure_.push_back(job.id);
    case NextStep::Kind::end: return finish(job.id, std::move(step.result));
  }
}

void Scheduler::has_code(Job& job, const DeviceCode& code) {
  if (job.cancelled) return finish(job.id, failed_result(Failure::cancelled, "given up before it was measured"));
  proceed(job, sharing_.measure_or_wait(job, code));
}

void Scheduler::fail_compilation(Job& job, const PoolResult& result) {
  put_first(to_compile_, sharing_.compilation_failed(job, result));  // to fail alike, or to be tried
  finish(job.id, result);
}

void Scheduler::finish_measurement(Job& job, PoolResult result) {
  const Sharing::Measured measured = sharing_.measured(job, result);
  const DeviceCode code = std::move(job.code);
  finish(job.id, std::move(result));
  for (JobId id : measured.waiting) {
    if (measured.outcome)
      finish(id, measured.outcome->share());
    else if (Job* other = find(id))
      has_code(*other, code);
  }
}

// The command is there before the job is taken out, and complete before anything else is tried: where memory runs out meanwhile
// no result is lost.
void Scheduler::finish(JobId id, PoolResult result) {
  if (!jobs_.contains(id)) return;
  DeliverResult& delivery = std::get<DeliverResult>(commands_.emplace_back(DeliverResult()));
  auto node = jobs_.extract(id);
  Job& job = node.mapped();
  delivery.future = std::move(job.future);
  delivery.result = std::move(result);
  const bool nothing_new = delivery.result.origin == Origin::resumed ||
                           (delivery.result.failure == Failure::cancelled && delivery.result.exec_time().empty());
  identify(job);
  delivery.digest = job.digest;
  delivery.configuration = std::move(job.json);
  delivery.result.configuration = std::move(job.configuration);
  delivery.result.label = std::move(job.label);
  delivery.write_to_log = !nothing_new;  // last: a line that is not whole could not be read again
}

void Scheduler::note_failure(Status failure) {
  if (!status_.ok()) return;
  status_ = std::move(failure);
  commands_.emplace_back(SetStatus{status_});
}

void Scheduler::give_up(Status reason) {
  const Failure kind = life_ == Life::closed ? Failure::cancelled : Failure::worker_lost;
  if (life_ == Life::open) {
    life_ = Life::given_up;
    status_ = reason;
    commands_.emplace_back(SetStatus{reason});
  }
  while (!jobs_.empty()) finish(jobs_.begin()->first, failed_result(kind, reason.to_string()));
  to_compile_.clear();
  to_measure_.clear();
  for (auto& [id, worker] : workers_) worker.drop_jobs();
}

void Scheduler::close() {
  life_ = Life::closed;
  status_ = error(Code::unavailable, "the pool was closed");
  give_up(status_);
}

void Scheduler::describe(PoolProgress& progress) const {
  progress.compiling = progress.measuring = progress.devices_ready = 0;
  for (const auto& [id, worker] : workers_) {
    (worker.role() == WorkerRole::compile ? progress.compiling : progress.measuring) += worker.load();
    progress.devices_ready += worker.has_started() && worker.role() == WorkerRole::device;
  }
  progress.ready = to_measure_.size();
  progress.distinct_objects = sharing_.distinct_objects();
  progress.workers_replaced = workers_replaced_;
  progress.compile_busy = compile_busy_;
  progress.device_busy = device_busy_;
}

Job* Scheduler::find(JobId id) {
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : &job->second;
}

Job* Scheduler::take_first(std::deque<JobId>& queue) {
  while (!queue.empty()) {
    const JobId id = queue.front();
    queue.pop_front();
    if (Job* job = find(id)) return job;
  }
  return nullptr;
}

Job* Scheduler::take_to_compile(WorkerId worker) {
  Job* first = nullptr;
  std::vector<uint64_t> translations;
  for (size_t i = 0; i < to_compile_.size() && i < TranslationHomes::kLookedThrough;) {
    Job* job = find(to_compile_[i]);
    if (!job) {
      to_compile_.erase(to_compile_.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    if (!first) first = job;
    identify(*job);
    translations.push_back(job->translation);
    ++i;
  }
  if (!first) return nullptr;
  const size_t place = first->passed_over < kMostPassedOver ? homes_.choose(translations, worker) : 0;
  Job* taken = find(to_compile_[place]);
  if (place != 0) ++first->passed_over;
  to_compile_.erase(to_compile_.begin() + static_cast<ptrdiff_t>(place));
  return taken;
}

void Scheduler::put_first(std::deque<JobId>& queue, const std::vector<JobId>& jobs) {
  queue.insert(queue.begin(), jobs.begin(), jobs.end());
}

}  // namespace mneme
