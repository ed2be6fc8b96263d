// The pool's own thread: it gives work to the workers, takes what they report, and replaces those that are lost.
//
//   submitted ─▶ to_compile ─▶ a compile worker translates ─┬▶ assembles ──────────────▶ to_measure ─▶ a device worker ─▶ done
//                    └▶ waits for the same request ─────────┴▶ waits for the same code ─┘     └▶ waits for the same launch of it
//
// Messages (each a JSON object):
//   to any worker     {"id", "configuration"}; to a device worker also "code", the object as a descriptor, and "alone" where its
//                     result is to be told before another begins
//   of any worker     {"ready"} once; then of each job {"id", "failure", "reason", "details"} or, in between,
//   of a compile one  {"id", "translated": digest, "about"}, answered by {"assemble": bool} unless the job said "assemble", as it
//                     does where nothing is shared; {"id", "code": {"digest", …}} with the object
//   of a device one   {"device": {"name", "architecture"}} first; {"id", "began"}: those it was given before have ended as they
//                     should, and what is missing of their results follows; {"id", "timed": [ns, …]}; {"id", "details"};
//                     {"id", "loading"}: until its next message it loads that job's object while another runs; to it {"stop":
//                     id}; {"instance", "copies"} of a keeper, see keeper.h; {"no_mask": reason}: looking for a mask has taken
//                     its device along, and those that start later are not to; {"exhausted": reason}: the pool gives up
//
// Sources: scheduler.cc is its life, jobs coming and going; scheduler_workers.cc is workers; scheduler_sharing.cc is what
// configurations share.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <thread>
#include <unordered_map>

#include "mneme/pool/job.h"
#include "mneme/pool/last_words.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/wait_set.h"
#include "mneme/pool/zygote.h"

namespace mneme {

class Pool::Scheduler {
 public:
  static Result<std::unique_ptr<Scheduler>> start(PoolOptions options);
  ~Scheduler();

  std::shared_ptr<FutureState> submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done,
                                      std::string label = {});
  void drain();
  PoolProgress progress() const;
  Status status() const;

 private:
  using Json = nlohmann::json;
  using Clock = std::chrono::steady_clock;

  // In the wait set, where workers have their ids, which begin with 1.
  static constexpr uint64_t kWakeUp = 0, kZygote = std::numeric_limits<uint64_t>::max();

  enum class Role { compile, device, keeper };
  struct Worker {
    uint64_t id = 0;
    Role role = Role::compile;
    int device = 0;
    Channel channel = {};
    LastWords words = {};
    bool ready = false;
    std::deque<JobId> jobs = {};        // the first is under way
    std::deque<JobId> left = {};        // those before them whose results follow
    Clock::time_point busy_since = {};  // while there are jobs
    Clock::time_point deadline = {};    // max(): none
    Failure fate = Failure::none;       // why it was killed by us; a failure that is no timeout: its connection was of no use
    bool killed = false;
    bool began = false;  // the first job, on a device worker
    Clock::time_point began_at = {};
    Clock::duration a_job = {};  // from one that began to the next, as of late; 0: not known
    JobId loading = 0;           // a later one, whose object is being loaded; 0: none
    bool closed = false;
    bool ending = false;       // it said so, with the failure that it ends for
    std::string refusal = {};  // why it does not start, as it said
  };

  explicit Scheduler(PoolOptions options) : options_(std::move(options)) {}
  Status prepare();
  void run();
  void begin();
  // Until something happens; false: the pool closes. `talking` are workers, and kZygote.
  bool wait(std::vector<uint64_t>& talking);
  void take_turn(const std::vector<uint64_t>& talking);
  void take_submissions();
  void take_cancellations();
  // Hands it out, whatever fails meanwhile: what is thrown then is a std::runtime_error, for which the pool gives up.
  void finish(JobId id, PoolResult result);
  void note(Job& job, PoolResult& result);  // fills it in, writes it down and counts it
  void call_back(const FutureState& future, const PoolResult& result);
  void set_status(Status reason);  // the first is kept
  void give_up(Status reason);     // whatever fails meanwhile
  Job* find(JobId id);
  // The first job of a queue that is still there.
  Job* take(std::deque<JobId>& queue);

  void start_worker(Role role, int device);
  void hear_copies(const Worker& worker, Message message);
  void send_copies(Worker& worker);
  void lose_keeper(int device);
  enum class Taken { some, all };
  bool take_messages(Worker& worker, Taken taken);  // whether it has said something, or has closed its connection
  void kill(Worker& worker, Failure fate);
  // Each throws a Json::exception for what is no message of a worker, as a candidate may make it, before anything has changed.
  void hear(Worker& worker, Message message);
  void hear_ready(Worker& worker);
  void hear_device(const Json& device);
  void hear_failure(Worker& worker, Job& job, const Json& body);
  void hear_measured(Worker& worker, Job& job, const Json& body);
  void take_endings();
  void lose(Worker& worker, int status);
  Status count_failed_start(const Worker& gone, int status);  // unavailable: there have been too many
  void blame(const Worker& gone, Job& job, int status);
  void hear_began(Worker& worker, JobId id);
  static JobId guilty(const Worker& gone, int status);
  enum class Loss { explained, unexplained };
  void requeue(Role role, const std::deque<JobId>& jobs, Loss loss);
  void enforce_limits();
  void dispatch();
  void count_under_way();  // in the progress: what workers have and wait for
  void give_to_compilers();
  void give_to_devices();
  static size_t depth_of(const Worker& device);  // how many jobs it has at hand
  void give(Worker& worker, Job& job, Json body, std::span<const int> descriptors);
  void leave(Worker& worker, Job& job);  // the job is no longer this worker's
  PoolLimits::Seconds limit_of(const Worker& worker) const;
  void extend(Worker& worker, PoolLimits::Seconds limit);

  void remember_measurements();  // of an earlier run
  bool needs_compiler(Job& job);
  void hear_translated(Worker& worker, Job& job, const Json& body);
  void hear_code(Worker& worker, Job& job, Message& message);
  void keep(const std::string& code_digest);
  void has_code(Job& job, const SharedCode& code);
  void code_failed(Job& job, const PoolResult& result);
  void settle(Job& job, PoolResult result);  // and whatever waits for the same measurement
  std::string measurement_key(const Job& job, const SharedCode& code) const;
  bool shares_measurement(const Job& job) const { return options_.share && job.label.empty(); }

  PoolOptions options_;
  std::shared_ptr<WakeUp> wake_up_;
  WaitSet wait_set_;
  std::optional<ZygoteProcess> zygote_;
  ResultLog log_;

  // The thread's own. Queues and lists may name jobs that are gone.
  std::map<JobId, Job> jobs_;
  std::deque<JobId> to_compile_, to_measure_;
  std::unordered_map<std::string, TranslationRequest> translations_;  // by compile_key()
  std::unordered_map<std::string, SharedCode> codes_;                 // by the digest of the translation
  std::deque<std::string> kept_;                                      // whose objects are kept, the oldest first
  std::unordered_map<std::string, SharedMeasurement> measurements_;
  std::map<uint64_t, Worker> workers_;
  std::string architecture_;  // of the devices, once one has told
  uint64_t next_worker_ = 1;
  struct FailedStarts {  // in a row, each
    unsigned by_themselves = 0, killed = 0;
  };
  std::map<std::pair<Role, int>, FailedStarts> failed_starts_;
  std::map<int, std::map<size_t, Message>> copies_;  // of each device's instances, as its workers told
  std::map<int, unsigned> keepers_started_;
  std::string no_mask_;  // why device workers are to look for none
  bool cancelling_ = false;

  // Shared with callers.
  mutable std::mutex mutex_;
  std::condition_variable drained_;
  std::map<JobId, Job> submitted_;
  JobId next_job_ = 1;
  bool closing_ = false, gave_up_ = false;
  PoolProgress progress_;
  uint64_t told_ = 0;  // of what is done, that somebody can have the result of
  std::optional<Clock::time_point> first_ready_;
  Status status_;

  std::thread thread_;  // last: it uses all of the above
};

// Valid UTF-8, whatever words of a candidate are in the reason.
PoolResult failed_result(Failure kind, const std::string& reason);

}  // namespace mneme
