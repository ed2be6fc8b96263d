// The scheduler's workers: how they start, what they say, what they are given, and how they end.
#include <algorithm>
#include <utility>

#include "mneme/pool/scheduler.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Cause = PoolWorker::Cause;
using State = PoolWorker::State;

// So many keepers of a device are started.
constexpr unsigned kMostKeepers = 3;

}  // namespace

void Scheduler::start_worker(WorkerRole role, int device, PoolTime now) {
  if (!has_zygote_) return;
  const auto there = copies_.find(device);
  const bool has_copies = role == WorkerRole::device && there != copies_.end();
  const PoolTime deadline = role == WorkerRole::keeper ? kNever : limits_.end_of_start(now);
  PoolWorker& worker = workers_.try_emplace(next_worker_, next_worker_, role, device, deadline).first->second;
  ++next_worker_;
  commands_.emplace_back(
      StartWorker{worker.id(), {role, device, architecture_, no_mask_, has_copies ? there->second.size() : 0}});
  if (role != WorkerRole::compile) send_copies(worker);
}

void Scheduler::send_copies(const PoolWorker& worker) {
  const auto there = copies_.find(worker.device());
  if (there == copies_.end()) return;
  for (const auto& [instance, copies] : there->second) commands_.emplace_back(SendToWorker{worker.id(), copies});
}

// It gets what copies there are.
void Scheduler::start_keeper(int device, PoolTime now) {
  if (++keepers_started_[device] <= kMostKeepers) start_worker(WorkerRole::keeper, device, now);
}

void Scheduler::kill(PoolWorker& worker, Cause cause, PoolTime now) {
  if (has_zygote_ && worker.kill(cause, now)) commands_.emplace_back(KillWorker{worker.id()});
}

void Scheduler::receive(WorkerId id, FromWorker message, PoolTime now) {
  const auto worker = workers_.find(id);
  if (worker == workers_.end()) return;
  std::visit([&](auto& one) { handle(worker->second, one, now); }, message);
}

void Scheduler::handle(PoolWorker& worker, WorkerReady&, PoolTime now) {
  worker.become_ready();
  failed_starts_.forget(worker.role(), worker.device());
  if (!first_ready_) first_ready_ = now;
}

void Scheduler::handle(PoolWorker& worker, WorkerRefused& message, PoolTime) { worker.refuse(valid_utf8(message.reason)); }

// Compilation begins with the first device that is known.
void Scheduler::handle(PoolWorker&, DeviceOpened& message, PoolTime now) {
  if (architecture_.empty()) {
    architecture_ = message.architecture;
    for (unsigned i = 0; i < compile_workers_; ++i) start_worker(WorkerRole::compile, 0, now);
  } else if (message.architecture != architecture_) {
    give_up(error(Code::invalid_argument, "the devices of a pool must be alike: one is {} and another, {}, is {}", architecture_,
                  message.name, message.architecture));
  }
}

void Scheduler::handle(PoolWorker&, MaskLost& message, PoolTime) { no_mask_ = std::move(message.reason); }

void Scheduler::handle(PoolWorker&, WorkerExhausted& message, PoolTime) {
  give_up(error(Code::exhausted, "a worker: {}", message.reason));
}

void Scheduler::handle(PoolWorker& worker, InstanceCopies& message, PoolTime now) {
  const int device = worker.device();
  auto& copies = copies_[device];
  const size_t instance = message.instance;
  copies.insert_or_assign(instance, std::move(message));
  if (copies.size() < instances_) return;
  for (auto& [id, other] : workers_)
    if (other.role() == WorkerRole::keeper && other.device() == device) return send_copies(other);
  start_keeper(device, now);
}

// What is said of a job that is another worker's, or has ended meanwhile, is ignored.
template <typename OfJob>
void Scheduler::handle(PoolWorker& worker, OfJob& message, PoolTime now) {
  Job* job = find(message.id);
  if (!job || !worker.has(job->id)) return;
  worker.set_loading(0);
  handle(worker, *job, message, now);
}

// A job is translated once, and then assembled, by a compiler. A worker that says otherwise is not what was started, and a job
// that was believed to be in another state would wait for ever.
void Scheduler::handle(PoolWorker& worker, Job& job, CodeTranslated& message, PoolTime now) {
  if (worker.role() != WorkerRole::compile || !job.code_digest.empty()) return kill(worker, Cause::broken, now);
  Sharing::Translated translated = sharing_.translated(job, message.digest, message.about);
  put_first(to_compile_, translated.again);
  // Where nothing is shared it was told to assemble with the job.
  if (sharing_.is_on()) commands_.emplace_back(SendToWorker{worker.id(), AssembleAnswer{translated.assemble}});
  if (translated.assemble) return;
  take_back(worker, job, now);
  proceed(job, std::move(translated.next));
}

void Scheduler::handle(PoolWorker& worker, Job& job, TranslationBegan&, PoolTime now) {
  worker.begin(job.id, now);
  worker.extend_to(limits_.end_of_job(worker.role(), now));
}

void Scheduler::handle(PoolWorker& worker, Job& job, JobsJoined&, PoolTime now) {
  worker.join(job.id);
  worker.extend_to(limits_.end_of_job(worker.role(), now));
}

void Scheduler::handle(PoolWorker& worker, Job& job, CodeAssembled& message, PoolTime now) {
  if (worker.role() != WorkerRole::compile || job.code_digest.empty()) return kill(worker, Cause::broken, now);
  take_back(worker, job, now);
  if (!message.object) return fail_compilation(job, failed_result(Failure::worker_lost, "the compile worker sent no object"));
  const std::string code_digest = job.code_digest;
  const std::vector<JobId> waiting = sharing_.assembled(job, message.description, std::move(message.object));
  const DeviceCode& code = sharing_.code_of(job);
  has_code(job, code);
  for (JobId id : waiting)
    if (Job* other = find(id)) has_code(*other, code);
  sharing_.keep_object(code_digest);
}

void Scheduler::handle(PoolWorker& worker, Job& job, JobLoading&, PoolTime now) {
  worker.set_loading(job.id);
  worker.extend_to(limits_.end_of_job(worker.role(), now));
}

void Scheduler::handle(PoolWorker& worker, Job& job, JobBegan&, PoolTime now) {
  worker.begin(job.id, now);
  worker.extend_to(limits_.end_of_job(worker.role(), now));
}

void Scheduler::handle(PoolWorker& worker, Job& job, JobTimed& message, PoolTime now) {
  worker.extend_to(limits_.end_of_job(worker.role(), now));
  commands_.emplace_back(DeliverTimes{job.future, std::move(message.times)});
}

void Scheduler::handle(PoolWorker& worker, Job& job, JobEnded& message, PoolTime now) {
  PoolResult result = std::move(message.result);
  result.reason = valid_utf8(result.reason);
  [[maybe_unused]] const Status compiled = add_compilation(result.details, job.about);  // as checked when it was received
  take_back(worker, job, now);
  if (worker.role() == WorkerRole::compile) return fail_compilation(job, result);
  if (result.failure == Failure::device_fault || result.failure == Failure::worker_lost) {
    worker.expect_end();
    worker.extend_to(limits_.end_of_job(worker.role(), now));
  } else if (!result.failed() && job.told_to_stop) {
    result.failure = Failure::cancelled;
    result.reason = result.exec_time().empty() ? "given up before it was timed" : "given up while it was timed";
  }
  finish_measurement(job, std::move(result));
}

// A worker that had jobs is not killed yet: how its process ends by itself says what became of them.
void Scheduler::disconnected(WorkerId id, Disconnection how, PoolTime now) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  PoolWorker& worker = found->second;
  if (how == Disconnection::closed && worker.disconnect(now)) return;
  const bool of_no_use = how == Disconnection::broken && worker.has_started();
  if (how == Disconnection::broken && !of_no_use && worker.refusal().empty()) worker.refuse("sent what is no message");
  kill(worker, of_no_use ? Cause::broken : Cause::idle_close, now);
}

void Scheduler::worker_ended(WorkerId id, const WorkerEnd& end, PoolTime now) {
  auto node = workers_.extract(id);
  if (node.empty()) return;
  PoolWorker& lost = node.mapped();
  homes_.forget(id);
  if (end.began != 0) lost.note_began(end.began, now);
  if (!end.not_forked.empty()) lost.refuse(end.not_forked);
  replace(lost, end, now);
}

void Scheduler::not_started(WorkerId id, Status why) {
  workers_.erase(id);
  give_up(why.with_context("starting a worker of the pool"));
}

void Scheduler::replace(const PoolWorker& lost, const WorkerEnd& end, PoolTime now) {
  if (lost.role() == WorkerRole::keeper) return start_keeper(lost.device(), now);
  if (!lost.has_started()) {
    if (lost.role() == WorkerRole::device) copies_.erase(lost.device());  // they may be what it did not start with
    const std::string why =
        lost.cause() == Cause::out_of_time ? fmt::format("was not ready after {} s", limits_.of_start().count()) : lost.refusal();
    if (Status too_many = failed_starts_.count(lost.role(), lost.device(), why, end); !too_many.ok())
      return give_up(std::move(too_many));
  }
  return_jobs(lost, end);
  if (lost.has_started()) ++workers_replaced_;
  start_worker(lost.role(), lost.device(), now);
}

void Scheduler::return_jobs(const PoolWorker& lost, const WorkerEnd& end) {
  for (const auto* jobs : {&lost.awaited(), &lost.jobs()})
    for (JobId id : *jobs)
      if (Job* job = find(id)) job->at_worker = false;
  const LostJobs divided = divide_jobs(lost, end);
  if (Job* job = divided.charged ? find(*divided.charged) : nullptr) {
    PoolResult result = result_of_loss(lost, end, limits_);
    [[maybe_unused]] const Status compiled = add_compilation(result.details, job->about);  // likewise
    if (lost.role() == WorkerRole::compile)
      fail_compilation(*job, result);
    else
      finish_measurement(*job, std::move(result));
  }
  give_again(lost.role(), divided.to_give_again, divided.explained);
  for (JobId id : divided.to_run_alone)
    if (Job* job = find(id)) job->alone = true;
  if (lost.role() == WorkerRole::compile)
    give_again(lost.role(), divided.to_run_alone, true);
  else
    put_first(to_measure_, divided.to_run_alone);
}

// Where the loss is explained there is an end to it: the job that was charged will not be given again.
void Scheduler::give_again(WorkerRole role, const std::vector<JobId>& jobs, bool explained) {
  std::deque<JobId>& queue = role == WorkerRole::compile ? to_compile_ : to_measure_;
  for (auto id = jobs.rbegin(); id != jobs.rend(); ++id) {
    Job* job = find(*id);
    if (!job) continue;
    if (role == WorkerRole::compile) put_first(queue, sharing_.compilation_lost(*job));
    if (explained || ++job->losses < kMostUnexplainedLosses)
      queue.push_front(*id);
    else
      finish_measurement(
          *job, failed_result(Failure::worker_lost, fmt::format("{} workers were lost before it began", kMostUnexplainedLosses)));
  }
}

PoolTime Scheduler::next_alarm() const {
  PoolTime next = kNever;
  if (has_zygote_)  // else nobody could end a worker
    for (const auto& [id, worker] : workers_) next = std::min(next, worker.deadline());
  return next;
}

// The pool's thread may have been stopped for longer than a limit: what a worker has said meanwhile is heard before it is judged.
void Scheduler::alarm(PoolTime now) {
  if (!has_zygote_) return;
  for (auto& [id, worker] : workers_) {
    if (now < worker.deadline()) continue;
    if (worker.state() != State::killed) {
      commands_.emplace_back(ListenToWorker{id});
      continue;
    }
    has_zygote_ = false;
    commands_.emplace_back(KillZygote());
    return give_up(error(Code::timeout, "the process that forks the pool's workers did not end one of them within {} s",
                         WorkerLimits::kKilling.count()));
  }
}

// Who has said something since has its limit anew.
void Scheduler::listened(WorkerId id, bool had_said_something, PoolTime now) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || now < found->second.deadline()) return;
  PoolWorker& worker = found->second;
  if (had_said_something)
    worker.extend_to(worker.has_started() ? limits_.end_of_job(worker.role(), now) : limits_.end_of_start(now));
  else
    kill(worker, worker.state() == State::disconnected ? Cause::broken : Cause::out_of_time, now);
}

void Scheduler::zygote_lost(const Status& why) {
  has_zygote_ = false;
  give_up(why.with_context("the pool's workers have ended"));
}

void Scheduler::hand_out(PoolTime now) {
  if (!has_zygote_) return;
  give_to_devices(now);    // which have room after that is short of jobs: compile_depth()
  give_to_compilers(now);  // a job that turns out to need none goes to a device at once
  give_to_devices(now);
}

void Scheduler::give_to_compilers(PoolTime now) {
  const size_t depth = compile_depth(to_compile_.size(), compile_workers_, workers_);
  const size_t most_ahead = most_ahead_of_devices(compile_workers_, devices_.size(), depth);
  size_t at_compilers = count_at_compilers(workers_);
  const auto may_compile = [&] { return !to_compile_.empty() && at_compilers + to_measure_.size() < most_ahead; };
  while (may_compile()) {
    PoolWorker* worker = next_receiver(workers_, WorkerRole::compile, depth);
    if (!worker) return;
    Job* job = nullptr;
    while (!job && may_compile()) {
      Job* next = take_to_compile(worker->id());
      if (next && needs_compiler(*next)) job = next;
    }
    if (!job) return;
    homes_.add(job->translation, worker->id());
    give(*worker, *job, CompileJob{job->id, job->json, !sharing_.is_on(), job->alone}, now);
    ++at_compilers;
  }
}

void Scheduler::give_to_devices(PoolTime now) {
  while (!to_measure_.empty()) {
    PoolWorker* worker = next_receiver(workers_, WorkerRole::device);
    Job* job = worker ? take_first(to_measure_) : nullptr;
    if (!job) return;
    give(*worker, *job, MeasureJob{job->id, job->json, job->code.description, job->code.object, job->alone}, now);
  }
}

void Scheduler::give(PoolWorker& worker, Job& job, ToWorker message, PoolTime now) {
  if (worker.jobs().empty()) worker.extend_to(limits_.end_of_job(worker.role(), now));
  worker.give(job.id, now);
  job.at_worker = true;
  commands_.emplace_back(SendToWorker{worker.id(), std::move(message)});
}

void Scheduler::take_back(PoolWorker& worker, Job& job, PoolTime now) {
  (worker.role() == WorkerRole::compile ? compile_busy_ : device_busy_) += worker.end(job.id, now);
  job.at_worker = false;
  worker.extend_to(worker.load() == 0 ? kNever : limits_.end_of_job(worker.role(), now));
}

}  // namespace mneme
