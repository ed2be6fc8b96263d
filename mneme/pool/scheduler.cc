#include "mneme/pool/scheduler.h"

#include <algorithm>

#include "mneme/pool/setup.h"

namespace mneme {
namespace {

// Every worker has two, every object that is kept or on its way to a device one.
constexpr int kDescriptors = 1024;

}  // namespace

PoolResult failed_result(Failure kind, std::string reason) {
  PoolResult result;
  result.failure = kind;
  result.reason = std::move(reason);
  return result;
}

Result<std::unique_ptr<Pool::Scheduler>> Pool::Scheduler::start(PoolOptions options) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options)));
  MNEME_TRY(scheduler->prepare());
  // The zygote's parent is the thread that starts it, which must live as long.
  std::optional<Status> started;
  std::condition_variable told;
  Scheduler* self = scheduler.get();
  scheduler->thread_ = std::thread([self, &started, &told] {
    auto zygote = ZygoteProcess::start(self->options_.command, self->options_.command_arguments);
    bool ok = zygote.ok();
    if (ok) self->zygote_.emplace(std::move(*zygote));
    {
      std::lock_guard lock(self->mutex_);
      started = zygote.status();
      told.notify_one();
    }
    if (ok) self->run();
  });
  std::unique_lock lock(self->mutex_);
  told.wait(lock, [&] { return started.has_value(); });
  MNEME_TRY(*started);
  return scheduler;
}

Status Pool::Scheduler::prepare() {
  MNEME_ASSIGN(wake_up_, WakeUp::create());
  MNEME_ASSIGN(wait_set_, WaitSet::create());
  MNEME_TRY(wait_set_.add(wake_up_->descriptor(), kWakeUp));
  if (options_.log.empty()) return {};
  Json instances = Json::array();
  for (const Digest& instance : options_.instances) instances.push_back(instance.hex());
  const Json about = {{"database", options_.database.string()},
                      {"static_hash", options_.static_hash.hex()},
                      {"instances", instances},
                      {"device", to_string(options_.device_kind)}};
  auto log = ResultLog::open(options_.log, about, options_.resume ? ResultLog::Existing::resume : ResultLog::Existing::refuse);
  if (!log.ok()) return log.status();
  log_ = std::move(*log);
  remember_measurements();
  return {};
}

Pool::Scheduler::~Scheduler() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  if (wake_up_) wake_up_->call();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<FutureState> Pool::Scheduler::submit(const Configuration& configuration,
                                                     std::function<void(const PoolResult&)> on_done, std::string label) {
  auto state = std::make_shared<FutureState>();
  state->on_done = std::move(on_done);
  state->wake_up = wake_up_;
  {
    std::lock_guard lock(mutex_);
    submitted_.push_back({.id = next_job_++, .configuration = configuration, .future = state, .label = std::move(label)});
    ++progress_.submitted;
  }
  wake_up_->call();
  return state;
}

void Pool::Scheduler::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return told_ == progress_.submitted; });
}

PoolProgress Pool::Scheduler::progress() const {
  std::lock_guard lock(mutex_);
  PoolProgress now = progress_;
  if (first_ready_) now.passed = Clock::now() - *first_ready_;
  return now;
}

Status Pool::Scheduler::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void Pool::Scheduler::run() {
  Status sent = wait_set_.add(zygote_->channel().descriptor(), kZygote);
  if (sent.ok())
    sent = zygote_->channel().send(to_json(PoolSetup{options_.database, options_.static_hash, options_.instances,
                                                     options_.device_kind, options_.limits.compile_memory}));
  if (!sent.ok()) give_up(sent.with_context("starting the pool's workers"));
  for (int device : options_.devices) start_worker(Role::device, device);
  reserve_descriptors(kDescriptors);  // while they start
  std::vector<uint64_t> talking;
  while (wait(talking)) {
    take_submissions();
    if (std::exchange(cancelling_, false)) take_cancellations();
    for (uint64_t id : talking)
      if (auto worker = workers_.find(id); worker != workers_.end()) take_messages(worker->second, Taken::some);
    if (std::find(talking.begin(), talking.end(), kZygote) != talking.end()) take_endings();
    enforce_limits();
    dispatch();
  }
  give_up(error(Code::unavailable, "the pool was closed"));
  workers_.clear();
  zygote_.reset();
}

bool Pool::Scheduler::wait(std::vector<uint64_t>& talking) {
  auto deadline = Clock::time_point::max();
  if (zygote_)  // else nobody could end one
    for (const auto& [id, worker] : workers_) deadline = std::min(deadline, worker.deadline);
  std::optional<std::chrono::milliseconds> time;
  if (deadline != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    time = std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60'000));
  }
  wait_set_.wait(time, talking);
  // Before anything is looked at that a caller wakes it for.
  if (std::erase(talking, kWakeUp) != 0) cancelling_ = wake_up_->hear() || cancelling_;
  std::lock_guard lock(mutex_);
  return !closing_;
}

void Pool::Scheduler::take_submissions() {
  std::vector<Job> fresh;
  {
    std::lock_guard lock(mutex_);
    fresh.swap(submitted_);
  }
  for (Job& job : fresh) {
    const JobId id = job.id;
    const bool asked = job.label.empty() && !log_.known().empty();
    auto known = asked ? log_.known().find(whole_digest(job.configuration)) : log_.known().end();
    jobs_.emplace(id, std::move(job));
    if (known != log_.known().end())
      finish(id, known->second);
    else if (gave_up_)
      finish(id, failed_result(Failure::worker_lost, status().to_string()));
    else
      to_compile_.push_back(id);
  }
}

// What a compile worker has comes back soon, and is given up then.
void Pool::Scheduler::take_cancellations() {
  std::vector<JobId> gone;
  for (const auto& [id, job] : jobs_)
    if (job.future->cancelled && !job.at_worker) gone.push_back(id);
  for (JobId id : gone)
    if (Job* job = find(id)) settle(*job, failed_result(Failure::cancelled, "given up before it was measured"));
  for (auto& [worker_id, worker] : workers_) {
    if (worker.role != Role::device) continue;
    for (JobId id : worker.jobs) {
      Job& job = jobs_.at(id);
      if (job.future->cancelled && !std::exchange(job.told_to_stop, true)) [[maybe_unused]]
        Status ignored = worker.channel.send({{"stop", id}});
    }
  }
}

void Pool::Scheduler::finish(JobId id, PoolResult result) {
  auto job = jobs_.extract(id);
  if (job.empty()) return;
  identify(job.mapped());
  result.configuration = std::move(job.mapped().configuration);
  result.label = job.mapped().label;
  const bool nothing_new =
      result.origin == Origin::resumed || (result.failure == Failure::cancelled && result.exec_time().empty());
  Status logged = nothing_new ? Status() : log_.append(result, job.mapped().json, job.mapped().digest);
  std::shared_ptr<FutureState> future = job.mapped().future;
  const std::optional<Nanoseconds> best = result.best_time();
  {
    std::lock_guard lock(mutex_);
    if (!logged.ok() && status_.ok()) status_ = logged.with_context("writing the log of the results");
    ++progress_.done;
    if (result.failed()) ++progress_.failures[result.failure];
    if (result.origin == Origin::shared) ++progress_.shared;
    if (result.origin == Origin::resumed) ++progress_.resumed;
    if (result.origin == Origin::measured && !result.exec_time().empty()) ++progress_.measured;
    if (best && (!progress_.best_time || *best < *progress_.best_time)) progress_.best_time = best;
  }
  if (future->on_done) future->on_done(result);
  {
    std::lock_guard lock(future->mutex);
    future->result = std::move(result);
  }
  future->changed.notify_all();
  {
    std::lock_guard lock(mutex_);
    ++told_;
  }
  drained_.notify_all();
}

void Pool::Scheduler::give_up(Status reason) {
  Failure kind = Failure::worker_lost;
  {
    std::lock_guard lock(mutex_);
    if (closing_) kind = Failure::cancelled;
    if (!closing_ && !std::exchange(gave_up_, true)) status_ = reason;
  }
  take_submissions();
  while (!jobs_.empty()) finish(jobs_.begin()->first, failed_result(kind, reason.to_string()));
  to_compile_.clear();
  to_measure_.clear();
  for (auto& [id, worker] : workers_) worker.jobs.clear(), worker.left.clear();
}

Job* Pool::Scheduler::find(JobId id) {
  auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : &job->second;
}

Job* Pool::Scheduler::take(std::deque<JobId>& queue) {
  while (!queue.empty()) {
    const JobId id = queue.front();
    queue.pop_front();
    if (Job* job = find(id)) return job;
  }
  return nullptr;
}

}  // namespace mneme
