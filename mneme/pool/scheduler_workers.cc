#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "mneme/pool/scheduler.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// A device worker has the next job at hand while one is under way, and one more: it looks for the next as soon as that begins.
// Short ones are more, so that it has work while the pool's thread waits for a core.
constexpr size_t kLeastAtDevice = 3, kMostAtDevice = 16;
constexpr std::chrono::milliseconds kAtDevice(10);
// A compile worker need not wait for its next job either.
constexpr size_t kCompileDepth = 2;
// So many of one kind that end in a row before they are ready end the pool. One that somebody killed says less of the next.
constexpr unsigned kMostFailedStarts = 3, kMostKilledStarts = 20;
// So often a job is given to another worker when one was lost before it began, and nobody was to blame.
constexpr unsigned kMostLost = 3;
// So long a worker's process may go on after it has closed its connection, as it does while a driver takes its device back. That
// it has ended is heard of at once.
constexpr std::chrono::seconds kClosed(5);
// A limit that is longer is none: 10 years.
constexpr PoolLimits::Seconds kNoLimit{10 * 365.25 * 24 * 3600};
// The zygote has that long to end a worker that is to be killed, and to say so.
constexpr std::chrono::seconds kKilling(20);

constexpr const char* kSomebody = ": somebody killed it, or the system did because memory ran out";

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

// What a worker breaks off for that sends no messages any more, or what is none.
Failure fate_of_broken(bool compiles) { return compiles ? Failure::compile_error : Failure::device_fault; }

// Throws a Json::exception, as hear() does, for what is none.
ResultDetails details_of(const Json& body) {
  auto details = result_details_from_json(body["details"]);
  if (!details.ok()) throw Json::other_error::create(501, details.status().message(), nullptr);
  return std::move(*details);
}

}  // namespace

void Pool::Scheduler::start_worker(Role role, int device) {
  if (!zygote_) return;
  Worker worker{.id = next_worker_++, .role = role, .device = device};
  constexpr const char* kNames[] = {"compile", "device", "keeper"};
  const auto there = copies_.find(device);
  const Json order = {{"role", kNames[static_cast<int>(role)]},
                      {"device", device},
                      {"architecture", architecture_},
                      {"no_mask", no_mask_},
                      {"copies", role == Role::device && there != copies_.end() ? there->second.size() : 0}};
  auto words = LastWords::create();
  auto channel = words.ok() ? zygote_->fork_worker(worker.id, order, *words) : words.status();
  if (!channel.ok()) return give_up(channel.status().with_context("starting a worker of the pool"));
  if (Status added = wait_set_.add(channel->descriptor(), worker.id); !added.ok())
    return give_up(added.with_context("starting a worker of the pool"));
  worker.channel = std::move(*channel);
  worker.words = std::move(*words);
  if (role == Role::keeper)
    worker.deadline = Clock::time_point::max();
  else
    extend(worker, options_.limits.starting);
  Worker& started = workers_.emplace(worker.id, std::move(worker)).first->second;
  if (role != Role::compile) send_copies(started);
}

void Pool::Scheduler::send_copies(Worker& worker) {
  const auto there = copies_.find(worker.device);
  if (there == copies_.end()) return;
  for (const auto& [instance, message] : there->second) {
    std::vector<int> numbers;
    for (const Descriptor& descriptor : message.descriptors) numbers.push_back(descriptor.number());
    // Where that fails the worker has ended.
    [[maybe_unused]] Status sent = worker.channel.send(message.body, numbers);
  }
}

void Pool::Scheduler::hear_copies(const Worker& worker, Message message) {
  const int device = worker.device;
  const size_t instance = message.body["instance"];
  copies_[device].insert_or_assign(instance, std::move(message));
  if (copies_[device].size() < options_.instances.size()) return;
  for (auto& [id, other] : workers_)
    if (other.role == Role::keeper && other.device == device) return send_copies(other);
  lose_keeper(device);
}

// Another one, which gets what there is.
void Pool::Scheduler::lose_keeper(int device) {
  if (++keepers_started_[device] <= kMostFailedStarts) start_worker(Role::keeper, device);
}

bool Pool::Scheduler::take_messages(Worker& worker, Taken taken) {
  if (worker.closed) return false;
  const Status taken_in = taken == Taken::all ? worker.channel.take_in() : worker.channel.take_some();
  worker.closed = !taken_in.ok();
  bool heard = false, nonsense = false;
  try {
    for (; auto message = worker.channel.next(); heard = true) hear(worker, std::move(*message));
  } catch (const Json::exception&) {
    worker.closed = nonsense = true;  // what a candidate did to it has come to its messages
  }
  if (!worker.closed) return heard;
  wait_set_.remove(worker.channel.descriptor());
  if (taken_in.code() == Code::exhausted) give_up(taken_in);
  if (!nonsense && !worker.ending && !worker.jobs.empty()) {  // how it ends is to be known
    worker.deadline = Clock::now() + kClosed;
    return true;
  }
  if (nonsense && !worker.ready && worker.refusal.empty()) worker.refusal = "sent what is no message";
  kill(worker, nonsense && worker.ready ? fate_of_broken(worker.role == Role::compile) : Failure::none);
  return true;
}

void Pool::Scheduler::kill(Worker& worker, Failure fate) {
  if (!zygote_ || std::exchange(worker.killed, true)) return;
  worker.fate = fate;
  worker.deadline = Clock::now() + kKilling;
  [[maybe_unused]] Status ignored = zygote_->kill_worker(worker.id);  // its end is heard of
}

void Pool::Scheduler::hear(Worker& worker, Message message) {
  const Json& body = message.body;
  if (body.contains("ready")) return hear_ready(worker);
  if (body.contains("device")) return hear_device(body["device"]);
  if (body.contains("copies")) return hear_copies(worker, std::move(message));
  if (body.contains("no_mask")) {
    no_mask_ = body["no_mask"];
    return;
  }
  if (body.contains("exhausted")) return give_up(error(Code::exhausted, "a worker: {}", body["exhausted"].get<std::string>()));
  Job* job = find(body.value("id", JobId{0}));
  if (!job) {
    if (body.contains("reason")) worker.refusal = valid_utf8(body["reason"]);
    return;
  }
  const auto is_at = [&](const std::deque<JobId>& jobs) { return std::find(jobs.begin(), jobs.end(), job->id) != jobs.end(); };
  if (!is_at(worker.jobs) && !is_at(worker.left)) return;  // another's
  worker.loading = body.contains("loading") ? job->id : 0;
  if (body.contains("translated")) return hear_translated(worker, *job, body);
  if (body.contains("code")) return hear_code(worker, *job, message);
  if (body.contains("failure")) return hear_failure(worker, *job, body);
  if (body.contains("details")) return hear_measured(worker, *job, body);
  if (body.contains("began")) hear_began(worker, job->id);
  extend(worker, options_.limits.running);
  if (!body.contains("timed")) return;
  std::lock_guard lock(job->future->mutex);
  for (const Json& time : body["timed"]) job->future->times.emplace_back(time.get<double>());
}

void Pool::Scheduler::hear_began(Worker& worker, JobId id) {
  const auto begun = std::find(worker.jobs.begin(), worker.jobs.end(), id);
  if (begun == worker.jobs.end()) return;
  const auto now = Clock::now();
  if (const auto before = std::exchange(worker.began_at, now); before != Clock::time_point())
    worker.a_job = worker.a_job == Clock::duration::zero() ? now - before : (7 * worker.a_job + (now - before)) / 8;
  worker.left.insert(worker.left.end(), worker.jobs.begin(), begun);
  worker.jobs.erase(worker.jobs.begin(), begun);
  worker.began = true;
}

void Pool::Scheduler::hear_ready(Worker& worker) {
  worker.ready = true;
  worker.deadline = Clock::time_point::max();
  failed_starts_.erase({worker.role, worker.device});
  std::lock_guard lock(mutex_);
  if (!first_ready_) first_ready_ = Clock::now();
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

void Pool::Scheduler::hear_failure(Worker& worker, Job& job, const Json& body) {
  PoolResult result =
      failed_result(parse_failure(body["failure"].get<std::string>()).value_or(Failure::worker_lost), body.value("reason", ""));
  if (body.contains("details")) result.details = details_of(body);
  [[maybe_unused]] Status compiled = add_compilation(result.details, job.about);  // see hear_translated()
  leave(worker, job);
  if (worker.role == Role::compile) return code_failed(job, result);
  if (result.failure == Failure::device_fault || result.failure == Failure::worker_lost) {  // see serve_device()
    worker.ending = true;
    extend(worker, options_.limits.running);
  }
  settle(job, std::move(result));
}

void Pool::Scheduler::hear_measured(Worker& worker, Job& job, const Json& body) {
  PoolResult result;
  result.details = details_of(body);
  [[maybe_unused]] Status compiled = add_compilation(result.details, job.about);  // see hear_translated()
  leave(worker, job);
  if (job.told_to_stop) {
    result.failure = Failure::cancelled;
    result.reason = result.exec_time().empty() ? "given up before it was timed" : "given up while it was timed";
  }
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
    take_messages(worker->second, Taken::all);  // what it said before
    if (!end.reason.empty()) worker->second.refusal = end.reason;
    lose(worker->second, end.status);
  }
}

void Pool::Scheduler::lose(Worker& worker, int status) {
  Worker gone = std::move(worker);
  workers_.erase(gone.id);
  if (gone.role == Role::keeper) return lose_keeper(gone.device);
  for (const auto* given : {&gone.left, &gone.jobs})
    for (JobId id : *given)
      if (Job* job = find(id)) job->at_worker = false;
  if (!gone.ready) {
    if (gone.role == Role::device) copies_.erase(gone.device);  // they may be what it did not start with
    if (Status too_many = count_failed_start(gone, status); !too_many.ok()) return give_up(std::move(too_many));
  }
  std::deque<JobId>& jobs = gone.jobs;
  // A device worker ends by itself after a fault, and has then the next job at hand.
  Loss loss = gone.ending ? Loss::explained : Loss::unexplained;
  if (!jobs.empty() && !gone.ending && (gone.role == Role::compile || gone.began || gone.fate != Failure::none)) {
    loss = Loss::explained;
    const JobId to_blame = guilty(gone, status);
    if (to_blame != jobs.front()) {
      gone.left.push_back(jobs.front());
      jobs.pop_front();
    }
    std::erase(jobs, to_blame);
    if (Job* job = find(to_blame)) blame(gone, *job, status);
  }
  requeue(gone.role, jobs, loss);
  // Another was to blame. That is not to happen twice.
  for (auto id = gone.left.rbegin(); id != gone.left.rend(); ++id) {
    if (Job* job = find(*id)) job->alone = true;
    to_measure_.push_front(*id);
  }
  if (gone.ready) {
    std::lock_guard lock(mutex_);
    ++progress_.workers_replaced;
  }
  start_worker(gone.role, gone.device);
}

Status Pool::Scheduler::count_failed_start(const Worker& gone, int status) {
  const bool ours = gone.fate != Failure::none || !gone.refusal.empty();  // it is killed where it does not end by itself
  const bool killed = !ours && was_killed(status);
  FailedStarts& starts = failed_starts_[{gone.role, gone.device}];
  unsigned& count = killed ? starts.killed : starts.by_themselves;
  const unsigned most = killed ? kMostKilledStarts : kMostFailedStarts;
  if (++count < most) return {};
  const std::string why = gone.fate != Failure::none ? fmt::format("was not ready after {} s", options_.limits.starting.count())
                          : gone.refusal.empty()     ? describe_end(status)
                                                     : gone.refusal;
  return error(Code::unavailable, "{} workers in a row did not start: the last one {}{}", most, why, killed ? kSomebody : "");
}

// The job under way, unless the process crashed while it loaded the object of another: what runs on a device crashes no process.
JobId Pool::Scheduler::guilty(const Worker& gone, int status) {
  const bool crashed = gone.fate == Failure::none && WIFSIGNALED(status) && !was_killed(status);
  const bool known = std::find(gone.jobs.begin(), gone.jobs.end(), gone.loading) != gone.jobs.end();
  return crashed && known ? gone.loading : gone.jobs.front();
}

void Pool::Scheduler::blame(const Worker& gone, Job& job, int status) {
  std::string end = describe_end(status);
  if (const std::string words = gone.words.read(); !words.empty()) end += fmt::format(", after '{}'", words);
  PoolResult result;
  if (gone.fate == Failure::compile_timeout)
    result = failed_result(gone.fate,
                           fmt::format("compiling took longer than {} s, and was ended", options_.limits.compiling.count()));
  else if (gone.fate == Failure::run_timeout)
    result =
        failed_result(gone.fate, fmt::format("the kernel ran longer than {} s, and was ended", options_.limits.running.count()));
  else if (gone.fate != Failure::none)
    result = failed_result(
        gone.fate, fmt::format("{} broke its connection with the pool, and was ended",
                               gone.role == Role::compile ? "the compiler's process" : "the process that ran the kernel"));
  else if (was_killed(status))
    result = failed_result(Failure::worker_lost, fmt::format("the worker {}{}", describe_end(status), kSomebody));
  else if (gone.role == Role::compile)
    result = failed_result(Failure::compile_error, fmt::format("the compiler crashed: its process {}", end));
  else
    result = failed_result(Failure::device_fault, fmt::format("the process that ran the kernel {}", end));
  [[maybe_unused]] Status compiled = add_compilation(result.details, job.about);  // see hear_translated()
  if (gone.role == Role::compile) return code_failed(job, result);
  settle(job, std::move(result));
}

// What a lost worker had at hand but had not begun. Where another job has ended with the worker there is an end to that.
void Pool::Scheduler::requeue(Role role, const std::deque<JobId>& jobs, Loss loss) {
  std::deque<JobId>& queue = role == Role::compile ? to_compile_ : to_measure_;
  for (auto id = jobs.rbegin(); id != jobs.rend(); ++id) {
    Job* job = find(*id);
    if (!job) continue;
    if (role == Role::compile) translations_[job->compile_key].under_way = false;
    if (loss == Loss::explained || ++job->lost < kMostLost)
      queue.push_front(*id);
    else
      settle(*job, failed_result(Failure::worker_lost, fmt::format("{} workers were lost before it began", kMostLost)));
  }
}

void Pool::Scheduler::enforce_limits() {
  const auto now = Clock::now();
  for (auto& [id, worker] : workers_) {
    if (now < worker.deadline || !zygote_) continue;
    // This thread may have been stopped for longer than that. Who has said something since has its limit anew.
    if (!worker.killed && take_messages(worker, Taken::all)) {
      if (worker.deadline <= now) extend(worker, worker.ready ? limit_of(worker) : options_.limits.starting);
      continue;
    }
    if (worker.killed) {
      zygote_->kill();
      zygote_.reset();
      return give_up(error(Code::timeout, "the process that forks the pool's workers did not end one of them within {} s",
                           kKilling.count()));
    }
    const bool compiles = worker.role == Role::compile;
    kill(worker, worker.closed ? fate_of_broken(compiles) : compiles ? Failure::compile_timeout : Failure::run_timeout);
  }
}

void Pool::Scheduler::dispatch() {
  if (!zygote_) return;
  give_to_compilers();  // what may be found to need none goes to a device at once
  give_to_devices();
  count_under_way();
}

void Pool::Scheduler::count_under_way() {
  uint64_t compiling = 0, measuring = 0, devices_ready = 0;
  for (const auto& [id, worker] : workers_) {
    (worker.role == Role::compile ? compiling : measuring) += worker.jobs.size() + worker.left.size();
    devices_ready += worker.ready && worker.role == Role::device;
  }
  std::lock_guard lock(mutex_);
  progress_.compiling = compiling;
  progress_.measuring = measuring;
  progress_.ready = to_measure_.size();
  progress_.devices_ready = devices_ready;
}

void Pool::Scheduler::give_to_compilers() {
  if (to_compile_.empty()) return;
  // Of what is compiled or will be. Where the devices are what everything waits for, compilers then take turns, and leave cores
  // to those who serve the devices, rather than fall upon the next jobs all at once.
  const size_t most_ahead = kCompileDepth * options_.compile_workers + kLeastAtDevice * options_.devices.size();
  size_t at_compilers = 0;
  for (const auto& [id, worker] : workers_)
    if (worker.role == Role::compile) at_compilers += worker.jobs.size();
  const auto room = [&] { return at_compilers + to_measure_.size() < most_ahead; };
  for (size_t depth = 1; depth <= kCompileDepth && room(); ++depth)  // an idle worker before a second job for another
    for (auto& [id, worker] : workers_) {
      while (worker.ready && !worker.closed && worker.role == Role::compile && worker.jobs.size() < depth && room()) {
        Job* job = take(to_compile_);
        if (!job) return;
        if (!needs_compiler(*job)) continue;
        give(worker, *job, options_.share ? Json::object() : Json{{"assemble", true}}, {});
        ++at_compilers;
      }
    }
}

void Pool::Scheduler::give_to_devices() {
  if (to_measure_.empty()) return;
  std::vector<Worker*> hungry;
  for (auto& [id, worker] : workers_)
    if (worker.ready && !worker.closed && !worker.ending && worker.role == Role::device && worker.jobs.size() < depth_of(worker))
      hungry.push_back(&worker);
  for (size_t depth = 1; depth <= kMostAtDevice; ++depth)  // an idle device before a second job for another
    for (Worker* worker : hungry) {
      if (worker->jobs.size() >= std::min(depth, depth_of(*worker))) continue;
      Job* job = take(to_measure_);
      if (!job) return;
      Json order = {{"code", job->code}};
      if (job->alone) order["alone"] = true;
      give(*worker, *job, std::move(order), std::array{job->object->number()});
    }
}

size_t Pool::Scheduler::depth_of(const Worker& device) {
  if (device.a_job == Clock::duration::zero()) return kLeastAtDevice;
  return std::clamp(static_cast<size_t>(kAtDevice / device.a_job), kLeastAtDevice, kMostAtDevice);
}

void Pool::Scheduler::give(Worker& worker, Job& job, Json body, std::span<const int> descriptors) {
  body["id"] = job.id;
  body["configuration"] = job.json;
  if (worker.jobs.empty()) {
    if (worker.left.empty()) worker.busy_since = Clock::now();
    extend(worker, limit_of(worker));
  }
  worker.jobs.push_back(job.id);
  job.at_worker = true;
  // Where that fails the worker has ended, or will be killed for its silence.
  [[maybe_unused]] Status sent = worker.channel.send(body, descriptors);
}

void Pool::Scheduler::leave(Worker& worker, Job& job) {
  if (!worker.jobs.empty() && worker.jobs.front() == job.id) worker.began = false;
  std::erase(worker.jobs, job.id);
  std::erase(worker.left, job.id);
  job.at_worker = false;
  const auto now = Clock::now();
  if (worker.jobs.empty() && worker.left.empty())
    worker.deadline = Clock::time_point::max();
  else
    extend(worker, limit_of(worker));
  std::lock_guard lock(mutex_);
  (worker.role == Role::compile ? progress_.compile_busy : progress_.device_busy) += now - worker.busy_since;
  worker.busy_since = now;
}

// Of one job.
PoolLimits::Seconds Pool::Scheduler::limit_of(const Worker& worker) const {
  return worker.role == Role::compile ? options_.limits.compiling : options_.limits.running;
}

// Not one that was killed already.
void Pool::Scheduler::extend(Worker& worker, PoolLimits::Seconds limit) {
  if (worker.killed) return;
  worker.deadline = limit > kNoLimit ? Clock::time_point::max() : Clock::now() + std::chrono::ceil<Clock::duration>(limit);
}

}  // namespace mneme
