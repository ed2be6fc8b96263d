#include "mneme/pool/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <set>

#include "mneme/pool/last_words.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Json failure_of(uint64_t id, Failure failure, const std::string& reason) {
  return {{"id", id}, {"failure", to_string(failure)}, {"reason", reason}};
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
  if (work.ok()) return channel.send({{"ready", true}}).ok();
  [[maybe_unused]] Status ignored = channel.send({{"id", 0}, {"reason", work.status().to_string()}});
  return false;
}

// A worker's messages: the next job arrives while one is under way, and so does the word to end that one, and whether to assemble
// what a compile worker has translated.
class Orders {
 public:
  explicit Orders(Channel channel) : channel_(std::move(channel)) {}
  Channel& channel() { return channel_; }

  Result<Message> next() {
    while (waiting_.empty()) {
      MNEME_ASSIGN(Message message, channel_.receive());
      sort(std::move(message));
    }
    Message message = std::move(waiting_.front());
    waiting_.pop_front();
    return message;
  }
  Result<bool> whether_to_assemble() {
    while (!assemble_) {
      MNEME_ASSIGN(Message message, channel_.receive());
      sort(std::move(message));
    }
    return *std::exchange(assemble_, std::nullopt);
  }
  // Whether next() need not wait.
  bool any() {
    take_in();
    return !waiting_.empty();
  }
  bool told_to_stop(uint64_t id) {
    take_in();
    return stop_.contains(id);
  }

 private:
  void take_in() {
    [[maybe_unused]] Status ignored = channel_.take_in();
    while (auto message = channel_.next()) sort(std::move(*message));
  }
  void sort(Message message) {
    if (message.body.contains("stop"))
      stop_.insert(message.body["stop"].get<uint64_t>());
    else if (!message.body.contains("id"))
      assemble_ = message.body.value("assemble", false);
    else
      waiting_.push_back(std::move(message));
  }

  Channel channel_;
  std::deque<Message> waiting_;
  std::set<uint64_t> stop_;
  std::optional<bool> assemble_;
};

Status compile_one(Orders& orders, CompileWork& work, const Json& order, const Configuration& configuration) {
  Channel& channel = orders.channel();
  const uint64_t id = order["id"];
  if (Status launch = work.check_launch(configuration); !launch.ok())
    return channel.send(failure_of(id, Failure::invalid_launch, launch.to_string()));
  auto translated = work.translate(configuration);
  if (!translated.ok()) return channel.send(failure_of(id, Failure::compile_error, translated.status().to_string()));
  MNEME_TRY(channel.send({{"id", id}, {"translated", translated->digest}, {"about", translated->about}}));
  bool assemble = order.value("assemble", false);
  if (!assemble) {
    MNEME_ASSIGN(assemble, orders.whether_to_assemble());
  }
  if (!assemble) return {};
  auto code = work.assemble();
  if (!code.ok()) return channel.send(failure_of(id, Failure::compile_error, code.status().to_string()));
  auto memory = put_in_memory(code->object);
  if (!memory.ok()) return channel.send(failure_of(id, Failure::worker_lost, memory.status().to_string()));
  return channel.send({{"id", id}, {"code", code->description}}, std::array{memory->number()});
}

// A job as far as it needs no device.
struct DeviceJob {
  explicit DeviceJob(Message order)
      : message(std::move(order)), id(message.body["id"]), alone(message.body.value("alone", false)) {
    configuration = configuration_from_json(message.body["configuration"]);
    if (!message.descriptors.empty()) object = read_memory(message.descriptors[0]);
  }
  Message message;
  uint64_t id;
  bool alone;  // its result is to be told before another begins
  Result<Configuration> configuration = Status(Code::internal, "not read");
  Result<ByteVector> object = Status(Code::io, "no object came with the job");
};

// While one job's runs are on the device the results of those before it are made and told. Fetching times is dear, and dearer
// while something runs: they are fetched for several jobs at once, between two.
class DeviceJobs {
 public:
  DeviceJobs(Channel channel, DeviceWork& work) : orders_(std::move(channel)), work_(work) {}

  void serve() {
    while (take_next()) {
      LastWords::begin_job();
      const DeviceJob job = std::move(*std::exchange(next_, nullptr));
      if (!serve(job)) return;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMostLeft = 32;
  // Results that are told during one job's runs while another is at hand: more would take longer than these, and come to the
  // pool all at once. Where there is none it may be for a result that it is waited.
  static constexpr size_t kToldMeanwhile = 2;

  bool take_next() {
    if (next_) return true;
    if (!orders_.any()) {
      if (!fetch().ok() || !tell()) return false;
      if (!orders_.any()) work_.idle();
    }
    auto message = orders_.next();
    if (message.status().code() == Code::exhausted) [[maybe_unused]]
      Status ignored = orders_.channel().send({{"exhausted", message.status().message()}});
    if (message.ok()) next_ = std::make_unique<DeviceJob>(std::move(*message));
    return message.ok();
  }

  void look_ahead() {
    if (next_ || !orders_.any()) return;
    [[maybe_unused]] const bool there = take_next();
    if (!next_ || !next_->configuration.ok() || !next_->object.ok()) return;
    [[maybe_unused]] Status ignored = orders_.channel().send({{"id", next_->id}, {"loading", true}});
    work_.expect(*next_->configuration, *next_->object, next_->message.body["code"]);
  }

  // False: the process is of no more use. The pool has what was left measured again.
  bool serve(const DeviceJob& job) {
    left_this_ = false;
    PoolResult result = measure(job);
    if (left_this_) return leave(job.id);
    const bool over = result.failure == Failure::device_fault || result.failure == Failure::worker_lost || !fetch().ok();
    return tell() && tell(job.id, std::move(result)) && !over;
  }

  PoolResult measure(const DeviceJob& job) {
    const uint64_t id = job.id;
    const auto failed = [](Failure failure, const std::string& reason) {
      PoolResult result;
      result.failure = failure;
      result.reason = reason;
      return result;
    };
    if (!job.configuration.ok()) return failed(Failure::invalid_launch, job.configuration.status().to_string());
    if (!job.object.ok()) return failed(Failure::worker_lost, job.object.status().to_string());
    if (orders_.told_to_stop(id)) return failed(Failure::cancelled, "given up before it was measured");
    // From here on this job is to blame for what happens to the process.
    [[maybe_unused]] Status ignored = orders_.channel().send({{"id", id}, {"began", true}});
    DeviceWork::Watch watch;
    watch.timed = [&](std::span<const Nanoseconds> times) {
      Json numbers = Json::array();
      for (Nanoseconds time : times) numbers.push_back(time.count());
      [[maybe_unused]] Status ignored = orders_.channel().send({{"id", id}, {"timed", numbers}});
      return !orders_.told_to_stop(id);
    };
    watch.going_on = [&] { return !orders_.told_to_stop(id); };
    watch.waiting = [&] {
      [[maybe_unused]] const bool told = next_ || orders_.any() ? tell(kToldMeanwhile) : tell();
      look_ahead();
    };
    watch.leave = [&] { return left_this_ = !job.alone && (next_ || orders_.any()); };
    return work_.measure(*job.configuration, *job.object, job.message.body["code"], watch);
  }

  bool leave(uint64_t id) {
    const auto now = Clock::now();
    if (left_.size() == fetched_) left_since_ = now;
    left_.push_back(id);
    if (now - left_since_ < kFetchAfter && left_.size() - fetched_ < kMostLeft) return true;
    Status fetched = fetch();
    if (fetched.ok()) return true;
    PoolResult lost;
    lost.failure = Failure::worker_lost;
    lost.reason = fetched.to_string();
    [[maybe_unused]] const bool told = tell() && tell(id, std::move(lost));
    return false;
  }

  Status fetch() {
    if (left_.size() == fetched_) return {};
    MNEME_TRY(work_.fetch_left());
    fetched_ = left_.size();
    return {};
  }

  // So many at most of what was left and is fetched.
  bool tell(size_t most = std::numeric_limits<size_t>::max()) {
    for (; fetched_ > 0 && most > 0; --fetched_, --most) {
      const uint64_t id = left_.front();
      left_.pop_front();
      if (!tell(id, work_.take_left())) return false;
    }
    return true;
  }

  bool tell(uint64_t id, PoolResult result) {
    Json json = result.failed() ? failure_of(id, result.failure, result.reason) : Json{{"id", id}};
    json["details"] = to_json(result.details);
    return orders_.channel().send(json).ok();
  }

  Orders orders_;
  DeviceWork& work_;
  std::unique_ptr<DeviceJob> next_;
  std::deque<uint64_t> left_;  // jobs, the oldest first; of the first `fetched_` there are times
  size_t fetched_ = 0;
  Clock::time_point left_since_;  // the oldest without
  bool left_this_ = false;
};

}  // namespace

Status announce(Channel& channel, const DeviceProperties& device) {
  return channel.send({{"device", {{"name", device.name}, {"architecture", device.architecture}}}});
}

void serve_compile(Channel channel, Result<std::unique_ptr<CompileWork>> work) {
  if (!greet(channel, work)) return;
  Orders orders(std::move(channel));
  for (;;) {
    auto message = orders.next();
    if (!message.ok()) return;
    LastWords::begin_job();
    auto configuration = configuration_from_json(message->body["configuration"]);
    Status status =
        configuration.ok()
            ? compile_one(orders, **work, message->body, *configuration)
            : orders.channel().send(failure_of(message->body["id"], Failure::compile_error, configuration.status().to_string()));
    if (!status.ok()) return;
  }
}

void serve_device(Channel channel, Result<std::unique_ptr<DeviceWork>> work) {
  if (!greet(channel, work)) return;
  DeviceJobs(std::move(channel), **work).serve();
}

}  // namespace mneme
