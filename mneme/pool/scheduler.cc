#include "mneme/pool/scheduler.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mneme/pool/setup.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// A device worker has the next job at hand while one is under way.
constexpr size_t kDeviceDepth = 2;
// So many workers in a row that end before they are ready end the pool.
constexpr unsigned kMostFailedStarts = 3;

// The part of a configuration that an object and its facts do not hold.
std::string launch_key(Configuration configuration) {
  configuration.passes.clear();
  configuration.pass_plugins.clear();
  configuration.ir = {};
  configuration.specialise = {};
  configuration.codegen = {};
  configuration.assembler = {};
  return to_json(configuration).dump();
}

PoolResult failure(Failure kind, std::string reason) {
  PoolResult result;
  result.failure = kind;
  result.reason = std::move(reason);
  return result;
}

void add_compilation(Json& details, const Json& about) {
  if (!about.is_object()) return;
  if (about.contains("times")) details["times"].update(about["times"]);
  const Json& specialised = about.value("specialised", Json::array());
  if (!specialised.empty()) details["specialised"] = specialised.size() == 1 ? specialised[0] : specialised;
}

// Whether another configuration that ends in the same code would fail in the same way.
bool is_of_the_code(Failure kind) { return kind != Failure::worker_lost && kind != Failure::cancelled; }

}  // namespace

Result<std::shared_ptr<WakeUp>> WakeUp::create() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.open()) return error(Code::io, "making an event for the pool: {}", std::strerror(errno));
  return std::make_shared<WakeUp>(std::move(event));
}

void WakeUp::call() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event_.number(), &one, sizeof one);
}

void WakeUp::hear() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t taken = ::read(event_.number(), &count, sizeof count);
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

std::shared_ptr<Future::State> Pool::Scheduler::submit(const Configuration& configuration,
                                                       std::function<void(const PoolResult&)> on_done, std::string label) {
  auto state = std::make_shared<Future::State>();
  state->on_done = std::move(on_done);
  state->wake_up = wake_up_;
  {
    std::lock_guard lock(mutex_);
    submitted_.push_back({next_job_++, configuration, state, std::move(label), {}, {}, {}, {}, {}});
    ++progress_.submitted;
  }
  wake_up_->call();
  return state;
}

void Pool::Scheduler::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return progress_.done == progress_.submitted; });
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
  Status sent = zygote_->channel().send(to_json(PoolSetup{options_.database, options_.static_hash, options_.instances,
                                                          options_.device_kind, options_.limits.compile_memory}));
  if (!sent.ok()) give_up(sent.with_context("starting the pool's workers"));
  for (int device : options_.devices) start_worker(Role::device, device);
  while (wait()) {
    take_submissions();
    take_cancellations();
    std::vector<uint64_t> ids;
    for (const auto& [id, worker] : workers_) ids.push_back(id);
    for (uint64_t id : ids)
      if (auto worker = workers_.find(id); worker != workers_.end()) take_messages(worker->second);
    take_endings();
    enforce_limits();
    dispatch();
  }
  give_up(error(Code::unavailable, "the pool was closed"));
  workers_.clear();
  zygote_.reset();
}

// False: the pool closes.
bool Pool::Scheduler::wait() {
  std::vector<pollfd> events{{wake_up_->descriptor(), POLLIN, 0}};
  if (zygote_) events.push_back({zygote_->channel().descriptor(), POLLIN, 0});
  auto deadline = Clock::time_point::max();
  for (const auto& [id, worker] : workers_) {
    if (!worker.closed) events.push_back({worker.channel.descriptor(), POLLIN, 0});
    deadline = std::min(deadline, worker.deadline);
  }
  int milliseconds = -1;
  if (deadline != Clock::time_point::max()) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    milliseconds = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
  }
  ::poll(events.data(), events.size(), milliseconds);
  wake_up_->hear();
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
    auto known = job.label.empty() ? log_.known().find(whole_digest(job.configuration)) : log_.known().end();
    jobs_.emplace(id, std::move(job));
    if (known != log_.known().end())
      finish(id, known->second);
    else if (Status reason = status(); !reason.ok())
      finish(id, failure(Failure::worker_lost, reason.to_string()));
    else
      to_compile_.push_back(id);
  }
}

void Pool::Scheduler::take_cancellations() {
  for (std::deque<JobId>* queue : {&to_compile_, &to_measure_}) {
    std::vector<JobId> gone;
    std::erase_if(*queue, [&](JobId id) {
      bool cancelled = jobs_.at(id).future->cancelled;
      if (cancelled) gone.push_back(id);
      return cancelled;
    });
    for (JobId id : gone) settle(jobs_.at(id), failure(Failure::cancelled, "given up before it was measured"));
  }
  for (auto& [id, worker] : workers_) {
    if (worker.role != Role::device || worker.jobs.empty()) continue;
    Job& job = jobs_.at(worker.jobs.front());
    if (job.future->cancelled && !std::exchange(job.told_to_stop, true)) [[maybe_unused]]
      Status ignored = worker.channel.send({{"stop", job.id}});
  }
}

void Pool::Scheduler::take_messages(Worker& worker) {
  if (worker.closed) return;
  worker.closed = !worker.channel.take_in().ok();
  while (auto message = worker.channel.next()) hear(worker, std::move(*message));
  // One that only closed its connection is of no use either.
  if (worker.closed && zygote_) [[maybe_unused]]
    Status ignored = zygote_->kill_worker(worker.id);
}

void Pool::Scheduler::hear(Worker& worker, Message message) {
  const Json& body = message.body;
  if (body.contains("ready")) {
    worker.ready = true;
    worker.deadline = Clock::time_point::max();
    failed_starts_ = 0;
    std::lock_guard lock(mutex_);
    if (!first_ready_) first_ready_ = Clock::now();
    return;
  }
  if (body.contains("device")) return hear_device(body["device"]);
  Job* job = find(body.value("id", JobId{0}));
  if (!job) {
    if (body.contains("reason")) last_start_failure_ = body["reason"];
    return;
  }
  if (body.contains("translated")) return hear_translated(worker, *job, body);
  if (body.contains("code")) return hear_code(worker, *job, message);
  if (body.contains("began")) {
    worker.began = true;
    worker.deadline = Clock::now() + std::chrono::ceil<Clock::duration>(options_.limits.running);
    return;
  }
  if (body.contains("timed")) {
    worker.deadline = Clock::now() + std::chrono::ceil<Clock::duration>(options_.limits.running);
    std::lock_guard lock(job->future->mutex);
    for (const Json& time : body["timed"]) job->future->times.emplace_back(time.get<double>());
    return;
  }
  if (body.contains("failure")) return hear_failure(worker, *job, body);
  if (body.contains("details")) return hear_measured(worker, *job, body);
}

// Compilation begins with the first device that is known.
void Pool::Scheduler::hear_device(const Json& device) {
  const std::string architecture = device.value("architecture", "");
  if (architecture_.empty()) {
    architecture_ = architecture;
    for (unsigned i = 0; i < options_.compile_workers; ++i) start_worker(Role::compile, 0);
  } else if (architecture != architecture_) {
    give_up(error(Code::invalid_argument, "the devices of a pool must be alike: one is {} and another, {}, is {}", architecture_,
                  device.value("name", "?"), architecture));
  }
}

void Pool::Scheduler::hear_translated(Worker& worker, Job& job, const Json& body) {
  job.translation = body["translated"];
  job.about = body["about"];
  SharedCode& code = codes_[job.translation];
  const bool there = code.object || (!code.description.is_null() && measures_already(job, code));
  const bool assemble = !options_.share || (!there && !code.assembling);
  [[maybe_unused]] Status sent = worker.channel.send({{"assemble", assemble}});
  if (assemble) {
    code.assembling = true;
    return;
  }
  leave(worker, job.id);
  if (there)
    has_code(job, code);
  else
    code.waiting.push_back(job.id);
}

void Pool::Scheduler::hear_code(Worker& worker, Job& job, Message& message) {
  leave(worker, job.id);
  if (message.descriptors.empty()) return settle(job, failure(Failure::worker_lost, "the compile worker sent no object"));
  SharedCode& code = codes_[job.translation];
  {
    std::lock_guard lock(mutex_);
    if (code.description.is_null()) ++progress_.distinct_objects;
  }
  code.assembling = false;
  code.object = std::make_shared<Descriptor>(std::move(message.descriptors[0]));
  code.description = message.body["code"];
  if (code.description.contains("times")) job.about["times"].update(code.description["times"]);
  has_code(job, code);
  for (JobId waiting : std::exchange(code.waiting, {}))
    if (Job* other = find(waiting)) has_code(*other, code);
}

void Pool::Scheduler::hear_failure(Worker& worker, Job& job, const Json& body) {
  leave(worker, job.id);
  PoolResult result =
      failure(parse_failure(body["failure"].get<std::string>()).value_or(Failure::worker_lost), body.value("reason", ""));
  if (body.contains("details")) result.details = body["details"];
  add_compilation(result.details, job.about);
  if (worker.role == Role::compile) return code_failed(job, result);
  settle(job, std::move(result));
}

void Pool::Scheduler::hear_measured(Worker& worker, Job& job, const Json& body) {
  leave(worker, job.id);
  PoolResult result;
  result.details = body["details"];
  add_compilation(result.details, job.about);
  if (job.told_to_stop && result.exec_time().empty()) result = failure(Failure::cancelled, "given up before it was measured");
  settle(job, std::move(result));
}

void Pool::Scheduler::take_endings() {
  if (!zygote_) return;
  auto ended = zygote_->take_ended();
  if (!ended.ok()) {
    zygote_.reset();
    return give_up(ended.status().with_context("the pool's workers have ended"));
  }
  for (const ZygoteProcess::Ended& end : *ended) {
    auto worker = workers_.find(end.id);
    if (worker == workers_.end()) continue;
    take_messages(worker->second);  // what it said before
    lose(worker->second, end.status);
  }
}

void Pool::Scheduler::lose(Worker& worker, int status) {
  Worker gone = std::move(worker);
  workers_.erase(gone.id);
  if (!gone.ready && ++failed_starts_ >= kMostFailedStarts) {
    std::string why = last_start_failure_.empty() ? describe_end(status) : last_start_failure_;
    return give_up(error(Code::unavailable, "{} workers in a row did not start: the last one {}", kMostFailedStarts, why));
  }
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  std::deque<JobId> jobs = std::move(gone.jobs);
  // A device worker ends by itself after a fault, and has then the next job at hand.
  if (!jobs.empty() && (gone.role == Role::compile || gone.began || gone.fate != Failure::none)) {
    Job& job = jobs_.at(jobs.front());
    jobs.pop_front();
    PoolResult result;
    if (gone.fate == Failure::compile_timeout)
      result =
          failure(gone.fate, fmt::format("compiling took longer than {} s, and was ended", options_.limits.compiling.count()));
    else if (gone.fate == Failure::run_timeout)
      result = failure(gone.fate, fmt::format("the kernel ran longer than {} s, and was ended", options_.limits.running.count()));
    else if (killed)
      result = failure(Failure::worker_lost, fmt::format("the worker {}", describe_end(status)));
    else if (gone.role == Role::compile)
      result = failure(Failure::compile_error, fmt::format("the compiler crashed: its process {}", describe_end(status)));
    else
      result = failure(Failure::device_fault, fmt::format("the process that ran the kernel {}", describe_end(status)));
    if (gone.role == Role::compile)
      code_failed(job, result);
    else
      settle(job, std::move(result));
  }
  // What it had at hand but had not begun.
  std::deque<JobId>& queue = gone.role == Role::compile ? to_compile_ : to_measure_;
  queue.insert(queue.begin(), jobs.begin(), jobs.end());
  {
    std::lock_guard lock(mutex_);
    if (gone.ready) ++progress_.workers_replaced;
  }
  start_worker(gone.role, gone.device);
}

void Pool::Scheduler::enforce_limits() {
  const auto now = Clock::now();
  for (auto& [id, worker] : workers_) {
    if (now < worker.deadline || !zygote_) continue;
    worker.deadline = Clock::time_point::max();
    if (worker.ready) worker.fate = worker.role == Role::compile ? Failure::compile_timeout : Failure::run_timeout;
    [[maybe_unused]] Status ignored = zygote_->kill_worker(id);  // its end is heard of
  }
}

void Pool::Scheduler::dispatch() {
  if (!zygote_) return;
  const size_t ahead = 2 * options_.compile_workers + kDeviceDepth * options_.devices.size();
  uint64_t compiling = 0, measuring = 0, devices_ready = 0;
  for (auto& [id, worker] : workers_) {
    if (worker.ready && worker.role == Role::compile && worker.jobs.empty() && !to_compile_.empty() &&
        to_measure_.size() < ahead) {
      Job& job = jobs_.at(to_compile_.front());
      to_compile_.pop_front();
      give(worker, job, Json::object(), {});
    }
    while (worker.ready && worker.role == Role::device && worker.jobs.size() < kDeviceDepth && !to_measure_.empty()) {
      Job& job = jobs_.at(to_measure_.front());
      to_measure_.pop_front();
      give(worker, job, {{"code", job.code}}, std::array{job.object->number()});
    }
    (worker.role == Role::compile ? compiling : measuring) += worker.jobs.size();
    devices_ready += worker.ready && worker.role == Role::device;
  }
  std::lock_guard lock(mutex_);
  progress_.compiling = compiling;
  progress_.measuring = measuring;
  progress_.ready = to_measure_.size();
  progress_.devices_ready = devices_ready;
}

void Pool::Scheduler::start_worker(Role role, int device) {
  if (!zygote_) return;
  Worker worker;
  worker.id = next_worker_++;
  worker.role = role;
  worker.device = device;
  worker.deadline = Clock::now() + std::chrono::ceil<Clock::duration>(options_.limits.starting);
  auto channel = zygote_->fork_worker(
      worker.id, {{"role", role == Role::compile ? "compile" : "device"}, {"device", device}, {"architecture", architecture_}});
  if (!channel.ok()) return give_up(channel.status().with_context("starting a worker of the pool"));
  worker.channel = std::move(*channel);
  workers_.emplace(worker.id, std::move(worker));
}

void Pool::Scheduler::give(Worker& worker, Job& job, Json body, std::span<const int> descriptors) {
  body["id"] = job.id;
  body["configuration"] = to_json(job.configuration);
  if (worker.jobs.empty()) {
    worker.busy_since = Clock::now();
    const auto& limits = options_.limits;
    worker.deadline =
        worker.busy_since + std::chrono::ceil<Clock::duration>(worker.role == Role::compile ? limits.compiling : limits.running);
  }
  worker.jobs.push_back(job.id);
  // Where that fails the worker has ended, or will be killed for its silence.
  [[maybe_unused]] Status sent = worker.channel.send(body, descriptors);
}

void Pool::Scheduler::leave(Worker& worker, JobId id) {
  std::erase(worker.jobs, id);
  worker.began = false;
  const auto now = Clock::now();
  std::lock_guard lock(mutex_);
  (worker.role == Role::compile ? progress_.compile_busy : progress_.device_busy) += now - worker.busy_since;
  worker.busy_since = now;
  worker.deadline =
      worker.jobs.empty() ? Clock::time_point::max() : now + std::chrono::ceil<Clock::duration>(options_.limits.running);
}

std::string Pool::Scheduler::measurement_key(const Job& job, const SharedCode& code) {
  return code.description.value("digest", "") + " " + launch_key(job.configuration);
}

bool Pool::Scheduler::measures_already(const Job& job, const SharedCode& code) const {
  return shares(job) && measurements_.contains(measurement_key(job, code));
}

void Pool::Scheduler::has_code(Job& job, const SharedCode& code) {
  job.object = code.object;
  job.code = code.description;
  const std::string key = measurement_key(job, code);
  if (!shares(job)) return to_measure_.push_back(job.id);
  auto [measurement, fresh] = measurements_.try_emplace(key);
  if (fresh) {
    measurement->second.measured_for = whole_digest(job.configuration);
    job.measurement = key;
    return to_measure_.push_back(job.id);
  }
  if (!measurement->second.result) return measurement->second.waiting.push_back(job.id);
  PoolResult shared = *measurement->second.result;
  shared.origin = Origin::shared;
  shared.shared_with = measurement->second.measured_for;
  finish(job.id, std::move(shared));
}

void Pool::Scheduler::code_failed(Job& job, const PoolResult& result) {
  std::vector<JobId> waiting;
  if (auto code = codes_.find(job.translation); code != codes_.end() && code->second.assembling) {
    waiting = std::exchange(code->second.waiting, {});
    code->second.assembling = false;
  }
  finish(job.id, result);
  for (JobId id : waiting) {
    if (is_of_the_code(result.failure))
      finish(id, result);
    else
      to_compile_.push_front(id);
  }
}

void Pool::Scheduler::settle(Job& job, PoolResult result) {
  auto measurement = measurements_.find(job.measurement);
  if (measurement == measurements_.end()) return finish(job.id, std::move(result));
  std::vector<JobId> waiting = std::move(measurement->second.waiting);
  if (!is_of_the_code(result.failure)) {
    // Says nothing of the others: they are measured for themselves.
    measurements_.erase(measurement);
    finish(job.id, std::move(result));
    for (JobId id : waiting)
      if (Job* other = find(id)) has_code(*other, {false, other->code, other->object, {}});
    return;
  }
  measurement->second.result = result;
  PoolResult shared = result;
  shared.origin = Origin::shared;
  shared.shared_with = measurement->second.measured_for;
  finish(job.id, std::move(result));
  for (JobId id : waiting) finish(id, shared);
}

void Pool::Scheduler::finish(JobId id, PoolResult result) {
  auto job = jobs_.extract(id);
  if (job.empty()) return;
  result.configuration = job.mapped().configuration;
  result.label = job.mapped().label;
  const bool nothing_new = result.origin == Origin::resumed || result.failure == Failure::cancelled;
  Status logged = nothing_new ? Status() : log_.append(result);
  // Objects of finished jobs are kept only where jobs still need them.
  if (auto code = codes_.find(job.mapped().translation); code != codes_.end()) {
    job.mapped().object.reset();
    if (code->second.object.use_count() == 1) code->second.object.reset();
  }
  std::shared_ptr<Future::State> future = job.mapped().future;
  if (future->on_done) future->on_done(result);
  {
    std::lock_guard lock(mutex_);
    if (!logged.ok() && status_.ok()) status_ = logged.with_context("writing the log of the results");
    ++progress_.done;
    if (result.failed()) ++progress_.failures[result.failure];
    if (result.origin == Origin::shared) ++progress_.shared;
    if (result.origin == Origin::resumed) ++progress_.resumed;
    if (result.origin == Origin::measured && !result.exec_time().empty()) ++progress_.measured;
    if (auto best = result.best_time(); best && (!progress_.best_time || *best < *progress_.best_time))
      progress_.best_time = best;
  }
  {
    std::lock_guard lock(future->mutex);
    future->result = std::move(result);
  }
  future->changed.notify_all();
  drained_.notify_all();
}

void Pool::Scheduler::give_up(Status reason) {
  {
    std::lock_guard lock(mutex_);
    if (status_.ok() && !closing_) status_ = reason;
  }
  take_submissions();
  const Failure kind = [&] {
    std::lock_guard lock(mutex_);
    return closing_ ? Failure::cancelled : Failure::worker_lost;
  }();
  while (!jobs_.empty()) finish(jobs_.begin()->first, failure(kind, reason.to_string()));
  to_compile_.clear();
  to_measure_.clear();
  for (auto& [id, worker] : workers_) worker.jobs.clear();
}

Pool::Scheduler::Job* Pool::Scheduler::find(JobId id) {
  auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : &job->second;
}

}  // namespace mneme
