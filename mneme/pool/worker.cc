#include "mneme/pool/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "mneme/pool/messages.h"
#include "mneme/process/last_words.h"

namespace mneme {
namespace {

PoolResult failed(Failure failure, const std::string& reason) {
  PoolResult result;
  result.failure = failure;
  result.reason = reason;
  return result;
}

// Memory without a name, which goes with the last descriptor to it.
Result<Descriptor> put_in_memory(ByteSpan bytes) {
  Descriptor memory(::memfd_create("mneme-object", MFD_CLOEXEC));
  if (!memory.open())
    return error(Code::exhausted, "making memory for an object of {}: {}", Bytes(bytes.size()), std::strerror(errno));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(memory.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error(Code::exhausted, "writing an object of {}: {}", Bytes(bytes.size()), std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  return memory;
}

Result<ByteVector> read_memory(const Descriptor& memory) {
  struct stat status{};
  if (::fstat(memory.number(), &status) != 0) return error(Code::io, "reading an object: {}", std::strerror(errno));
  ByteVector bytes(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::pread(memory.number(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return error(Code::io, "reading an object: {}", count < 0 ? std::strerror(errno) : "it is cut off");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

// Tells the pool that the worker is there, or why it is not.
template <typename Work>
bool greet(Channel& channel, const Result<std::unique_ptr<Work>>& work) {
  if (work.ok()) return send(channel, WorkerReady()).ok();
  [[maybe_unused]] Status ignored = send(channel, WorkerRefused{work.status().to_string()});
  return false;
}

// The messages that a worker gets: the next jobs arrive while one is under way, and so do the order to end one early, and the
// answer whether a compile worker is to assemble what it has translated.
template <typename JobMessage>
class Orders {
 public:
  explicit Orders(Channel channel) : channel_(std::move(channel)) {}
  Channel& channel() { return channel_; }

  Result<JobMessage> next() {
    while (waiting_.empty()) MNEME_TRY(receive());
    JobMessage job = std::move(waiting_.front());
    waiting_.pop_front();
    return job;
  }
  Result<bool> whether_to_assemble() {
    while (assemble_.empty()) MNEME_TRY(receive());
    const bool assemble = assemble_.front();
    assemble_.pop_front();
    return assemble;
  }
  // Whether next() need not wait.
  bool any() {
    take_in();
    return !waiting_.empty();
  }
  // Other messages are left to any(), since this is asked while nothing runs: it takes ten microseconds to read one.
  bool told_to_stop(JobId id) {
    [[maybe_unused]] Status ignored = channel_.take_in();
    if (may_have_stop(channel_)) sort_all();
    return stop_.contains(id);
  }

 private:
  Status receive() {
    MNEME_ASSIGN(Message message, channel_.receive());
    return sort(std::move(message));
  }
  // What is wrong with the connection is met by whoever waits for a message.
  void take_in() {
    [[maybe_unused]] Status ignored = channel_.take_in();
    sort_all();
  }
  void sort_all() {
    while (auto message = channel_.next()) [[maybe_unused]]
      Status ignored = sort(std::move(*message));
  }
  Status sort(Message message) {
    MNEME_ASSIGN(ToWorker decoded, decode_to_worker(std::move(message)));
    if (auto* job = std::get_if<JobMessage>(&decoded)) waiting_.push_back(std::move(*job));
    if (const auto* stop = std::get_if<StopJob>(&decoded)) stop_.insert(stop->id);
    if (const auto* answer = std::get_if<AssembleAnswer>(&decoded)) assemble_.push_back(answer->assemble);
    return {};
  }

  Channel channel_;
  std::deque<JobMessage> waiting_;
  std::set<JobId> stop_;
  std::deque<bool> assemble_;
};

// What one translation after another leaves is assembled together: as soon as no other job is at hand, and else when there is
// enough. The first is assembled at once, since a device may be waiting for it, and then twice as many each time.
class CompileJobs {
 public:
  CompileJobs(Channel channel, CompileWork& work) : orders_(std::move(channel)), work_(work) {}

  // Until the connection ends.
  void serve() {
    for (;;) {
      auto job = orders_.next();
      if (!job.ok() || !serve(*job).ok()) return;
    }
  }

 private:
  static constexpr size_t kMostTogether = 8;

  Status serve(const CompileJob& job) {
    if (job.alone) MNEME_TRY(assemble_kept());
    began_ = job.id;
    send_later(orders_.channel(), TranslationBegan{job.id});
    if (!LastWords::begin_job(job.id)) MNEME_TRY(orders_.channel().flush());
    MNEME_TRY(translate(job));
    if (kept_.size() < enough_ && !job.alone && orders_.any()) return {};
    return assemble_kept();
  }

  Status translate(const CompileJob& job) {
    auto configuration = configuration_from_json(job.configuration);
    if (!configuration.ok()) return fail(job.id, Failure::compile_error, configuration.status());
    if (Status launch = work_.check_launch(*configuration); !launch.ok()) return fail(job.id, Failure::invalid_launch, launch);
    auto translated = work_.translate(*configuration);
    if (!translated.ok()) return fail(job.id, Failure::compile_error, translated.status());
    MNEME_TRY(send(orders_.channel(), CodeTranslated{job.id, std::move(translated->digest), std::move(translated->about)}));
    bool assemble = job.assemble;
    if (!assemble) {
      MNEME_ASSIGN(assemble, orders_.whether_to_assemble());
    }
    if (!assemble) return {};
    work_.keep();
    kept_.push_back(job.id);
    return {};
  }

  Status assemble_kept() {
    if (kept_.empty()) return {};
    // A crash is that of the job which began last, if nothing else is said.
    if (kept_.size() > 1 || kept_[0] != began_) MNEME_TRY(send(orders_.channel(), JobsJoined{kept_.back()}));
    enough_ = std::min(2 * enough_, kMostTogether);
    const std::vector<JobId> jobs = std::exchange(kept_, {});
    std::vector<Result<AssembledCode>> all = work_.assemble();
    for (size_t i = 0; i < jobs.size(); ++i) MNEME_TRY(send_code(jobs[i], std::move(all[i])));
    return {};
  }

  Status send_code(JobId id, Result<AssembledCode> code) {
    if (!code.ok()) return fail(id, Failure::compile_error, code.status());
    auto memory = put_in_memory(code->object);
    if (!memory.ok()) return fail(id, Failure::worker_lost, memory.status());
    return send(orders_.channel(),
                CodeAssembled{id, std::move(code->description), std::make_shared<Descriptor>(std::move(*memory))});
  }

  Status fail(JobId id, Failure failure, const Status& why) {
    return send(orders_.channel(), JobEnded{id, failed(failure, why.to_string())});
  }

  Orders<CompileJob> orders_;
  CompileWork& work_;
  std::vector<JobId> kept_;  // translated, and to be assembled
  JobId began_ = 0;          // the job whose translation began last
  size_t enough_ = 1;
};

// A job as far as it needs no device.
struct DeviceJob {
  explicit DeviceJob(MeasureJob order) : message(std::move(order)) {
    configuration = configuration_from_json(message.configuration);
    if (message.object) object = read_memory(*message.object);
    message.object.reset();  // here, where there is time for it
  }
  MeasureJob message;
  Result<Configuration> configuration = Status(Code::internal, "not read");
  Result<ByteVector> object = Status(Code::io, "no object came with the job");
};

// While one job's runs are on the device the results of those before it are made and sent. Fetching times is dear, and dearer
// while something runs: they are fetched for several jobs at once, between two.
class DeviceJobs {
 public:
  DeviceJobs(Channel channel, DeviceWork& work) : orders_(std::move(channel)), work_(work) {}

  void serve() {
    while (take_next()) {
      std::unique_ptr<DeviceJob> job = std::move(next_);
      if (!serve(*job)) return;
      done_ = std::move(job);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class When { now, later };
  static constexpr size_t kMostLeft = 32;
  // Results that are sent during one job's runs while another is at hand: more would take longer than these, and come to the
  // pool all at once. Where no other is at hand, somebody may be waiting for a result.
  static constexpr size_t kSentMeanwhile = 2;

  bool take_next() {
    if (next_) return true;
    if (!orders_.any()) {
      if (!fetch().ok() || !send_results()) return false;
      if (!orders_.any()) work_.idle();
    }
    auto message = orders_.next();
    if (message.status().code() == Code::exhausted) [[maybe_unused]]
      Status ignored = send(orders_.channel(), WorkerExhausted{message.status().message()});
    if (message.ok()) next_ = std::make_unique<DeviceJob>(std::move(*message));
    return message.ok();
  }

  // While a job's runs are on the device. What there is to be told goes together.
  void wait() {
    send_results(next_ || orders_.any() ? kSentMeanwhile : std::numeric_limits<size_t>::max(), When::later);
    look_ahead();
    [[maybe_unused]] Status ignored = orders_.channel().flush();
    done_.reset();
  }

  void look_ahead() {
    if (next_ || !orders_.any()) return;
    [[maybe_unused]] const bool there = take_next();
    if (!next_ || !next_->configuration.ok() || !next_->object.ok()) return;
    [[maybe_unused]] Status ignored = send(orders_.channel(), JobLoading{next_->message.id});
    work_.expect(*next_->configuration, *next_->object, next_->message.code);
  }

  // False: the process is of no more use. The pool has what was left measured again.
  bool serve(const DeviceJob& job) {
    left_this_ = false;
    PoolResult result = measure(job);
    if (left_this_) return leave(job.message.id);
    const bool over = result.failure == Failure::device_fault || result.failure == Failure::worker_lost || !fetch().ok();
    return send_results() && send_result(job.message.id, std::move(result)) && !over;
  }

  PoolResult measure(const DeviceJob& job) {
    const JobId id = job.message.id;
    if (!job.configuration.ok()) return failed(Failure::invalid_launch, job.configuration.status().to_string());
    if (!job.object.ok()) return failed(Failure::worker_lost, job.object.status().to_string());
    if (orders_.told_to_stop(id)) return failed(Failure::cancelled, "given up before it was measured");
    begin(id);
    DeviceWork::Watch watch;
    watch.timed = [&](std::span<const Nanoseconds> times) {
      if (!times.empty()) tell_what_was_left();
      [[maybe_unused]] Status ignored = send(orders_.channel(), JobTimed{id, {times.begin(), times.end()}});
      return !orders_.told_to_stop(id);
    };
    watch.going_on = [&] {
      [[maybe_unused]] Status ignored = orders_.channel().flush();
      return !orders_.told_to_stop(id);
    };
    watch.waiting = [&] { wait(); };
    watch.followed = [&] { return !job.message.alone && next_ != nullptr; };
    watch.leave = [&] { return left_this_ = !job.message.alone && (next_ || orders_.any()); };
    return work_.measure(*job.configuration, *job.object, job.message.code, watch);
  }

  // From here on this job is to blame for what happens to the process. Where that can be noted the pool is told once the job's
  // runs are on the device: to wake its thread takes as long as a short run.
  void begin(JobId id) {
    send_later(orders_.channel(), JobBegan{id});
    if (!LastWords::begin_job(id)) [[maybe_unused]]
      Status ignored = orders_.channel().flush();
  }

  bool leave(JobId id) {
    const auto now = Clock::now();
    if (left_.size() == fetched_) left_since_ = now;
    left_.push_back(id);
    if (now - left_since_ < kFetchAfter && left_.size() - fetched_ < kMostLeft) return true;
    Status fetched = fetch();
    if (fetched.ok()) return true;
    [[maybe_unused]] const bool sent = send_results() && send_result(id, failed(Failure::worker_lost, fetched.to_string()));
    return false;
  }

  Status fetch() {
    if (left_.size() == fetched_) return {};
    if (fetching_.ok()) fetching_ = work_.fetch_left();
    MNEME_TRY(fetching_);
    fetched_ = left_.size();
    return {};
  }

  // Between the timed runs of a job, which may take minutes: with its first times the device has given those of all that was
  // left, and nothing runs now. If they cannot be had, that is met when the job is done.
  void tell_what_was_left() {
    if (fetch().ok()) [[maybe_unused]]
      const bool sent = send_results();
  }

  // So many at most of what was left and is fetched.
  bool send_results(size_t most = std::numeric_limits<size_t>::max(), When when = When::now) {
    for (; fetched_ > 0 && most > 0; --fetched_, --most) {
      const JobId id = left_.front();
      left_.pop_front();
      if (when == When::later)
        send_later(orders_.channel(), JobEnded{id, work_.take_left()});
      else if (!send_result(id, work_.take_left()))
        return false;
    }
    return true;
  }

  bool send_result(JobId id, PoolResult result) { return send(orders_.channel(), JobEnded{id, std::move(result)}).ok(); }

  Orders<MeasureJob> orders_;
  DeviceWork& work_;
  std::unique_ptr<DeviceJob> next_, done_;  // what is done is given up when there is time for it
  std::deque<JobId> left_;                  // jobs, the oldest first; of the first `fetched_` there are times
  size_t fetched_ = 0;
  Status fetching_;               // how the last fetch went; after a failure there is none
  Clock::time_point left_since_;  // the oldest without
  bool left_this_ = false;
};

}  // namespace

Status announce(Channel& channel, const DeviceProperties& device) {
  return send(channel, DeviceOpened{device.name, device.architecture});
}

void serve_compile(Channel channel, Result<std::unique_ptr<CompileWork>> work) {
  if (!greet(channel, work)) return;
  CompileJobs(std::move(channel), **work).serve();
}

void serve_device(Channel channel, Result<std::unique_ptr<DeviceWork>> work) {
  if (!greet(channel, work)) return;
  DeviceJobs(std::move(channel), **work).serve();
}

}  // namespace mneme
