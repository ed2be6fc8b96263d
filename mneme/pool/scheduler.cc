#include "mneme/pool/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "mneme/pool/setup.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

// Every worker has two, every object that is kept or on its way to a device one.
constexpr int kDescriptors = 1024;

// Of what is thrown; empty: nothing is.
template <typename Action>
std::string failure_of(const Action& action) try {
  action();
  return {};
} catch (const std::exception& failure) {
  return failure.what();
} catch (...) {
  return "something that is no std::exception";
}

}  // namespace

PoolResult failed_result(Failure kind, const std::string& reason) {
  PoolResult result;
  result.failure = kind;
  result.reason = valid_utf8(reason);
  return result;
}

Result<std::unique_ptr<Pool::Scheduler>> Pool::Scheduler::start(PoolOptions options) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options)));
  MNEME_TRY(scheduler->prepare());
  // The zygote's parent is the thread that starts it, which must live as long.
  std::optional<Status> started;
  std::condition_variable told;
  Scheduler* self = scheduler.get();
  const auto serve = [self, &started, &told] {
    auto zygote = ZygoteProcess::start(self->options_.command, self->options_.command_arguments);
    bool ok = zygote.ok();
    if (ok) self->zygote_.emplace(std::move(*zygote));
    {
      std::lock_guard lock(self->mutex_);
      started = zygote.status();
      told.notify_one();
    }
    if (ok) self->run();
  };
  try {
    scheduler->thread_ = std::thread(serve);
  } catch (const std::system_error& failure) {
    return error(Code::unavailable, "opening a pool: starting its thread: {} (`ulimit -u` says how many there may be)",
                 failure.code().message());
  }
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
    const JobId id = next_job_;
    submitted_.emplace(id, Job{.id = id, .configuration = configuration, .future = state, .label = std::move(label)});
    ++next_job_;
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
  std::string failure = failure_of([&] { begin(); });
  std::vector<uint64_t> talking;
  while (wait(talking)) {
    if (failure.empty()) failure = failure_of([&] { take_turn(talking); });
    if (!failure.empty()) give_up(error(Code::internal, "the pool's own thread failed: {}", std::exchange(failure, {})));
  }
  give_up(error(Code::unavailable, "the pool was closed"));
  workers_.clear();
  zygote_.reset();
}

void Pool::Scheduler::begin() {
  Status sent = wait_set_.add(zygote_->channel().descriptor(), kZygote);
  if (sent.ok())
    sent = zygote_->channel().send(to_json(PoolSetup{options_.database, options_.static_hash, options_.instances,
                                                     options_.device_kind, options_.limits.compile_memory}));
  if (!sent.ok()) give_up(sent.with_context("starting the pool's workers"));
  for (int device : options_.devices) start_worker(Role::device, device);
  reserve_descriptors(kDescriptors);  // while they start
}

void Pool::Scheduler::take_turn(const std::vector<uint64_t>& talking) {
  take_submissions();
  if (std::exchange(cancelling_, false)) take_cancellations();
  for (uint64_t id : talking)
    if (auto worker = workers_.find(id); worker != workers_.end()) take_messages(worker->second, Taken::some);
  if (std::find(talking.begin(), talking.end(), kZygote) != talking.end()) take_endings();
  enforce_limits();
  dispatch();
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
  JobId first = 0;
  {
    std::lock_guard lock(mutex_);
    if (submitted_.empty()) return;
    first = submitted_.begin()->first;
    jobs_.merge(submitted_);  // which takes no memory: none is lost
  }
  for (auto next = jobs_.lower_bound(first); next != jobs_.end();) {
    const auto& [id, job] = *next++;
    const bool asked = job.label.empty() && !log_.known().empty();
    auto known = asked ? log_.known().find(whole_digest(job.configuration)) : log_.known().end();
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
      Job* job = find(id);
      if (job && job->future->cancelled && !std::exchange(job->told_to_stop, true)) [[maybe_unused]]
        Status ignored = worker.channel.send({{"stop", id}});
    }
  }
}

void Pool::Scheduler::finish(JobId id, PoolResult result) {
  auto job = jobs_.extract(id);
  if (job.empty()) return;
  const std::shared_ptr<FutureState> future = job.mapped().future;
  std::string failure = failure_of([&] { note(job.mapped(), result); });
  if (const std::string later = failure_of([&] { call_back(*future, result); }); failure.empty()) failure = later;
  count_under_way();  // who has the result, is not told that it is still under way
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
  if (!failure.empty()) throw std::runtime_error(failure);
}

void Pool::Scheduler::note(Job& job, PoolResult& result) {
  identify(job);
  result.configuration = std::move(job.configuration);
  result.label = job.label;
  const bool nothing_new =
      result.origin == Origin::resumed || (result.failure == Failure::cancelled && result.exec_time().empty());
  if (Status logged = nothing_new ? Status() : log_.append(result, job.json, job.digest); !logged.ok())
    set_status(logged.with_context("writing the log of the results"));
  const std::optional<Nanoseconds> best = result.best_time();
  std::lock_guard lock(mutex_);
  ++progress_.done;
  if (result.failed()) ++progress_.failures[result.failure];
  if (result.origin == Origin::shared) ++progress_.shared;
  if (result.origin == Origin::resumed) ++progress_.resumed;
  if (result.origin == Origin::measured && !result.exec_time().empty()) ++progress_.measured;
  if (best && (!progress_.best_time || *best < *progress_.best_time)) progress_.best_time = best;
}

void Pool::Scheduler::call_back(const FutureState& future, const PoolResult& result) {
  if (!future.on_done) return;
  const std::string failure = failure_of([&] { future.on_done(result); });
  if (!failure.empty())
    set_status(error(Code::internal, "the on_done of a configuration threw: {}; its result is the future's", failure));
}

void Pool::Scheduler::set_status(Status reason) {
  std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = std::move(reason);
}

void Pool::Scheduler::give_up(Status reason) {
  Failure kind = Failure::worker_lost;
  {
    std::lock_guard lock(mutex_);
    if (closing_) kind = Failure::cancelled;
    if (!closing_ && !std::exchange(gave_up_, true)) status_ = reason;
    jobs_.merge(submitted_);
  }
  while (!jobs_.empty()) [[maybe_unused]]
    const std::string ignored = failure_of([&] { finish(jobs_.begin()->first, failed_result(kind, reason.to_string())); });
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
