// The pool's own thread: it gives work to the workers, takes what they report, and replaces those that are lost.
//
//   submitted ─▶ to_compile ─▶ a compile worker translates ─┬▶ assembles ──────────────▶ to_measure ─▶ a device worker ─▶ done
//                                                           └▶ waits for the same code ─┘
//
// Messages (each a JSON object):
//   to any worker     {"id", "configuration"}; to a device worker also "code" and the object as a descriptor
//   of any worker     {"ready"} once; then of each job {"id", "failure", "reason", "details"} or, in between,
//   of a compile one  {"id", "translated": digest, "about"}, answered by {"assemble": bool}; {"id", "code": {"digest", …}} with
//                     the object
//   of a device one   {"device": {"name", "architecture"}} first; {"id", "began"}; {"id", "timed": [ns, …]}; {"id", "details"}
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "mneme/pool/pool.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/zygote.h"

namespace mneme {

// Lets poll() return; shared by the pool and its futures.
class WakeUp {
 public:
  static Result<std::shared_ptr<WakeUp>> create();
  explicit WakeUp(Descriptor event) : event_(std::move(event)) {}
  void call();
  void hear();
  int descriptor() const { return event_.number(); }

 private:
  Descriptor event_;
};

struct Future::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<PoolResult> result;
  std::vector<Nanoseconds> times;
  std::atomic<bool> cancelled = false;
  std::function<void(const PoolResult&)> on_done;
  std::shared_ptr<WakeUp> wake_up;
};

class Pool::Scheduler {
 public:
  static Result<std::unique_ptr<Scheduler>> start(PoolOptions options);
  ~Scheduler();

  std::shared_ptr<Future::State> submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done,
                                        std::string label = {});
  void drain();
  PoolProgress progress() const;
  Status status() const;

 private:
  using Json = nlohmann::json;
  using Clock = std::chrono::steady_clock;
  using JobId = uint64_t;

  // What some translation became: jobs that end in the same one share it.
  struct SharedCode {
    bool assembling = false;
    Json description;                    // null until it is assembled; stays
    std::shared_ptr<Descriptor> object;  // while a job needs it
    std::vector<JobId> waiting;          // for `assembling`
  };
  // One object under one launch: jobs that agree in both share what was measured.
  struct Measurement {
    Digest measured_for;
    std::optional<PoolResult> result;
    std::vector<JobId> waiting;
  };
  struct Job {
    JobId id;
    Configuration configuration;
    std::shared_ptr<Future::State> future;
    std::string label;                   // not empty: shares nothing
    std::string translation;             // digest, once known
    std::shared_ptr<Descriptor> object;  // once there
    Json code;
    Json about;               // what the result is to say of its compilation
    std::string measurement;  // key, where this job is the one that is measured
    bool told_to_stop = false;
  };
  enum class Role { compile, device };
  struct Worker {
    uint64_t id;
    Role role;
    int device = 0;
    Channel channel;
    bool ready = false;
    std::deque<JobId> jobs;        // the first is under way
    Clock::time_point busy_since;  // while there are jobs
    Clock::time_point deadline;    // max(): none
    Failure fate = Failure::none;  // why it was killed by us
    bool began = false;            // the first job, on a device worker
    bool closed = false;
  };

  explicit Scheduler(PoolOptions options) : options_(std::move(options)) {}
  Status prepare();
  void run();
  bool wait();

  void take_submissions();
  void take_cancellations();
  void take_messages(Worker& worker);
  void hear(Worker& worker, Message message);
  void hear_device(const Json& device);
  void hear_translated(Worker& worker, Job& job, const Json& body);
  void hear_code(Worker& worker, Job& job, Message& message);
  void hear_failure(Worker& worker, Job& job, const Json& body);
  void hear_measured(Worker& worker, Job& job, const Json& body);
  void take_endings();
  void lose(Worker& worker, int status);
  void enforce_limits();
  void dispatch();

  void start_worker(Role role, int device);
  void give(Worker& worker, Job& job, Json body, std::span<const int> descriptors);
  void leave(Worker& worker, JobId id);  // the job is no longer this worker's
  void has_code(Job& job, const SharedCode& code);
  static std::string measurement_key(const Job& job, const SharedCode& code);
  bool measures_already(const Job& job, const SharedCode& code) const;
  bool shares(const Job& job) const { return options_.share && job.label.empty(); }
  void code_failed(Job& job, const PoolResult& result);
  void settle(Job& job, PoolResult result);  // and whatever waits for the same measurement
  void finish(JobId id, PoolResult result);  // hands it out
  void give_up(Status reason);
  Job* find(JobId id);

  PoolOptions options_;
  std::shared_ptr<WakeUp> wake_up_;
  std::optional<ZygoteProcess> zygote_;
  ResultLog log_;

  // The thread's own.
  std::map<JobId, Job> jobs_;
  std::deque<JobId> to_compile_, to_measure_;
  std::map<std::string, SharedCode> codes_;
  std::map<std::string, Measurement> measurements_;
  std::map<uint64_t, Worker> workers_;
  std::string architecture_;  // of the devices, once one has told
  uint64_t next_worker_ = 1;
  unsigned failed_starts_ = 0;
  std::string last_start_failure_;

  // Shared with callers.
  mutable std::mutex mutex_;
  std::condition_variable drained_;
  std::vector<Job> submitted_;
  JobId next_job_ = 1;
  bool closing_ = false;
  PoolProgress progress_;
  std::optional<Clock::time_point> first_ready_;
  Status status_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mneme
