#include "mneme/pool/pool_thread.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "mneme/pool/setup.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Every worker has two, every object that is kept or on its way to a device one.
constexpr int kDescriptors = 1024;

// What an action throws, in words; empty: nothing.
template <typename Action>
std::string failure_of(const Action& action) try {
  action();
  return {};
} catch (const std::exception& failure) {
  return failure.what();
} catch (...) {
  return "something that is no std::exception";
}

PoolTime now() { return PoolClock::now(); }

}  // namespace

Result<std::unique_ptr<PoolThread>> PoolThread::start(PoolOptions options) {
  std::unique_ptr<PoolThread> pool(new PoolThread(std::move(options)));
  MNEME_TRY(pool->prepare());
  // The zygote's parent is the thread that starts it, which must live as long.
  std::optional<Status> started;
  std::condition_variable told;
  PoolThread* self = pool.get();
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
    pool->thread_ = std::thread(serve);
  } catch (const std::system_error& failure) {
    return error(Code::unavailable, "opening a pool: starting its thread: {} (`ulimit -u` says how many there may be)",
                 failure.code().message());
  }
  std::unique_lock lock(self->mutex_);
  told.wait(lock, [&] { return started.has_value(); });
  MNEME_TRY(*started);
  return pool;
}

Status PoolThread::prepare() {
  MNEME_ASSIGN(wake_up_, WakeUp::create());
  MNEME_ASSIGN(wait_set_, WaitSet::create());
  MNEME_TRY(wait_set_.add(wake_up_->descriptor(), kWakeUp));
  if (!options_.log.empty()) {
    Json instances = Json::array();
    for (const Digest& instance : options_.instances) instances.push_back(instance.hex());
    Json about = {{"database", options_.database.string()},
                  {"static_hash", options_.static_hash.hex()},
                  {"instances", instances},
                  {"device", options_.compile_for.empty() ? to_string(options_.device_kind) : options_.compile_for}};
    if (!options_.weights.empty()) about["weights"] = options_.weights;
    auto log = ResultLog::open(options_.log, about, options_.resume ? ResultLog::Existing::resume : ResultLog::Existing::refuse);
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
  }
  scheduler_.emplace(options_, log_.known());
  return {};
}

PoolThread::~PoolThread() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  if (wake_up_) wake_up_->call();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<FutureState> PoolThread::submit(const Configuration& configuration,
                                                std::function<void(const PoolResult&)> on_done, std::string label) {
  auto state = std::make_shared<FutureState>();
  state->on_done = std::move(on_done);
  state->wake_up = wake_up_;
  {
    std::lock_guard lock(mutex_);
    const JobId id = state->id = next_job_;
    submitted_.emplace(id, Job{.id = id, .configuration = configuration, .future = state, .label = std::move(label)});
    ++next_job_;
    ++progress_.submitted;
  }
  wake_up_->call();
  return state;
}

void PoolThread::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return delivered_ == progress_.submitted; });
}

PoolProgress PoolThread::progress() const {
  std::lock_guard lock(mutex_);
  PoolProgress progress = progress_;
  if (first_ready_) progress.passed = now() - *first_ready_;
  return progress;
}

Status PoolThread::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void PoolThread::run() {
  std::string failure = failure_of([&] { begin(); });
  std::vector<uint64_t> talking;
  while (wait(talking)) {
    if (failure.empty()) failure = failure_of([&] { take_turn(talking); });
    if (!failure.empty()) give_up(error(Code::internal, "the pool's own thread failed: {}", std::exchange(failure, {})));
  }
  const auto close = [&] {
    scheduler_->close();
    take_submissions();
  };
  while (!failure_of(close).empty()) deliver_what_is_ready();
  connections_.clear();
  zygote_.reset();
}

void PoolThread::begin() {
  Status sent = wait_set_.add(zygote_->channel().descriptor(), kZygote);
  if (sent.ok())
    sent = zygote_->channel().send(
        to_json(PoolSetup{options_.database, options_.static_hash, options_.instances, options_.device_kind,
                          options_.limits.compile_memory, options_.compile_for, options_.weights}));
  if (!sent.ok()) scheduler_->give_up(sent.with_context("starting the pool's workers"));
  scheduler_->start(now());
  execute();
  report_not_started();
  reserve_descriptors(kDescriptors);  // while they start
}

bool PoolThread::wait(std::vector<uint64_t>& talking) {
  std::optional<std::chrono::milliseconds> time;
  if (const PoolTime alarm = scheduler_->next_alarm(); alarm != kNever) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(alarm - now());
    time = std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60'000));
  }
  wait_set_.wait(time, talking);
  // Before anything is looked at that a caller wakes the thread for.
  if (std::erase(talking, kWakeUp) != 0) {
    const std::vector<JobId> cancelled = wake_up_->take();
    cancelled_.insert(cancelled_.end(), cancelled.begin(), cancelled.end());
  }
  std::lock_guard lock(mutex_);
  return !closing_;
}

void PoolThread::take_turn(const std::vector<uint64_t>& talking) {
  take_submissions();
  if (!cancelled_.empty()) scheduler_->cancel(std::exchange(cancelled_, {}));
  execute();
  for (uint64_t id : talking) read(id, Reading::some);
  if (std::find(talking.begin(), talking.end(), kZygote) != talking.end()) read_zygote();
  scheduler_->alarm(now());
  execute();
  scheduler_->hand_out(now());
  execute();
  report_not_started();
  publish_progress();
}

void PoolThread::take_submissions() {
  std::map<JobId, Job> submitted;
  {
    std::lock_guard lock(mutex_);
    submitted.swap(submitted_);
  }
  scheduler_->submit(std::move(submitted));
  execute();
}

bool PoolThread::read(WorkerId id, Reading reading) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !found->second.open) return false;
  Connection& connection = found->second;
  const Status received = reading == Reading::all ? connection.channel.take_in() : connection.channel.take_some();
  bool broken = false;
  const bool said_something = read_messages(id, connection, broken);
  if (received.ok() && !broken) return said_something;
  connection.open = false;
  wait_set_.remove(connection.channel.descriptor());
  if (received.code() == Code::exhausted) scheduler_->give_up(received);
  scheduler_->disconnected(id, broken ? Disconnection::broken : Disconnection::closed, now());
  execute();
  return true;
}

// Where a message is none, what a candidate did to the worker has come to its messages: no more of them are read.
bool PoolThread::read_messages(WorkerId id, Connection& connection, bool& broken) {
  bool some = false;
  while (auto message = connection.channel.next()) {
    auto decoded = decode_from_worker(connection.role, std::move(*message));
    broken = !decoded.ok();
    if (broken) break;
    scheduler_->receive(id, std::move(*decoded), now());
    execute();
    some = true;
  }
  return some;
}

void PoolThread::read_zygote() {
  if (!zygote_) return;
  auto ended = zygote_->take_ended();
  if (!ended.ok()) {
    zygote_.reset();
    scheduler_->zygote_lost(ended.status());
    return execute();
  }
  for (WorkerProcessEnded& end : *ended) {
    const auto found = connections_.find(end.id);
    if (found == connections_.end()) continue;
    read(end.id, Reading::all);  // what it said before
    const WorkerEnd worker_end{ProcessEnd(end.wait_status), std::move(end.not_forked), found->second.words.read(),
                               found->second.words.job()};
    connections_.erase(found);
    scheduler_->worker_ended(end.id, worker_end, now());
    execute();
  }
}

void PoolThread::give_up(const Status& reason) {
  const auto try_it = [&] {
    scheduler_->give_up(reason);
    execute();
  };
  while (!failure_of(try_it).empty()) deliver_what_is_ready();
}

// Where memory has run out while results were made ready: those that are ready give theirs back.
void PoolThread::deliver_what_is_ready() {
  [[maybe_unused]] const std::string ignored = failure_of([&] { execute(); });
}

void PoolThread::execute() {
  std::string failure;
  for (std::vector<Command> commands = scheduler_->take_commands(); !commands.empty(); commands = scheduler_->take_commands())
    for (Command& command : commands) {
      std::string one = failure_of([&] { std::visit([&](auto& known) { carry_out(known); }, command); });
      if (failure.empty()) failure = std::move(one);
    }
  if (!failure.empty()) throw std::runtime_error(failure);
}

void PoolThread::carry_out(StartWorker& command) {
  if (Status status = start_worker(command); !status.ok()) not_started_.emplace_back(command.worker, std::move(status));
}

// Not while messages of a worker are read: the zygote may tell that this worker has ended, and its connection goes then.
void PoolThread::report_not_started() {
  while (!not_started_.empty()) {
    const auto [worker, status] = std::move(not_started_.front());
    not_started_.pop_front();
    if (status.code() == Code::unavailable) read_zygote();  // it has gone, and may have said why
    scheduler_->not_started(worker, status);
    execute();
  }
}

Status PoolThread::start_worker(const StartWorker& command) {
  if (!zygote_) return {};  // the scheduler is about to hear of that
  Connection connection{.role = command.order.role};
  MNEME_ASSIGN(connection.words, LastWords::create());
  MNEME_ASSIGN(connection.channel, zygote_->fork_worker(command.worker, to_json(command.order), connection.words));
  MNEME_TRY(wait_set_.add(connection.channel.descriptor(), command.worker));
  connections_.emplace(command.worker, std::move(connection));
  return {};
}

void PoolThread::carry_out(KillWorker& command) {
  if (zygote_) [[maybe_unused]]
    Status ignored = zygote_->kill_worker(command.worker);  // its end is told
}

void PoolThread::carry_out(KillZygote&) {
  if (zygote_) zygote_->kill();
  zygote_.reset();
}

void PoolThread::carry_out(SendToWorker& command) {
  if (const auto found = connections_.find(command.worker); found != connections_.end()) [[maybe_unused]]
    Status ignored = send(found->second.channel, std::move(command.message));
}

void PoolThread::carry_out(ListenToWorker& command) {
  const bool said_something = read(command.worker, Reading::all);
  scheduler_->listened(command.worker, said_something, now());
}

void PoolThread::carry_out(DeliverResult& delivery) {
  FutureState& future = *delivery.future;
  std::string failure = failure_of([&] {
    if (delivery.write_to_log) write_to_log(delivery);
    count(delivery.result);
  });
  if (const std::string later = failure_of([&] { call_back(future, delivery.result); }); failure.empty()) failure = later;
  publish_progress();  // whoever has the result is not told that it is still under way
  {
    std::lock_guard lock(future.mutex);
    future.result = std::move(delivery.result);
  }
  future.changed.notify_all();
  {
    std::lock_guard lock(mutex_);
    ++delivered_;
  }
  drained_.notify_all();
  if (!failure.empty()) throw std::runtime_error(failure);
}

void PoolThread::carry_out(DeliverTimes& command) {
  std::lock_guard lock(command.future->mutex);
  auto& times = command.future->times;
  times.insert(times.end(), command.times.begin(), command.times.end());
}

void PoolThread::carry_out(SetStatus& command) {
  std::lock_guard lock(mutex_);
  status_ = std::move(command.status);
}

// The status is there before anybody has the result.
void PoolThread::write_to_log(const DeliverResult& delivery) {
  Status written = log_.append(delivery.result, delivery.configuration, delivery.digest);
  if (written.ok()) return;
  scheduler_->note_failure(written.with_context("writing the log of the results"));
  execute();
}

void PoolThread::count(const PoolResult& result) {
  const std::optional<Nanoseconds> best = result.best_time();
  std::lock_guard lock(mutex_);
  ++progress_.done;
  if (result.failed()) ++progress_.failures[result.failure];
  if (result.origin == Origin::shared) ++progress_.shared;
  if (result.origin == Origin::resumed) ++progress_.resumed;
  if (result.origin == Origin::measured && !result.exec_time().empty()) ++progress_.measured;
  if (best && (!progress_.best_time || *best < *progress_.best_time)) progress_.best_time = best;
}

void PoolThread::call_back(const FutureState& future, const PoolResult& result) {
  if (!future.on_done) return;
  const std::string failure = failure_of([&] { future.on_done(result); });
  if (failure.empty()) return;
  scheduler_->note_failure(
      error(Code::internal, "the on_done of a configuration threw: {}; its result is the future's", failure));
  execute();
}

void PoolThread::publish_progress() {
  std::lock_guard lock(mutex_);
  scheduler_->describe(progress_);
  first_ready_ = scheduler_->first_ready();
}

}  // namespace mneme
