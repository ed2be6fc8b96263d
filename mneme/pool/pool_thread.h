// PoolThread: the pool's own thread. It tells the scheduler what happened, and carries out the scheduler's commands: it starts
// and kills worker processes, reads and writes their connections, writes the log, and hands out results.
//
// The thread waits until a caller submits or cancels something, a worker or the zygote sends something, or the scheduler's next
// alarm is due. Then it takes one turn, in which it handles everything that has happened. This thread alone does all of the
// pool's work; callers' threads only submit, wait, and look.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mneme/pool/future_state.h"
#include "mneme/pool/pool.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/scheduler.h"
#include "mneme/process/last_words.h"
#include "mneme/process/wait_set.h"
#include "mneme/process/zygote.h"

namespace mneme {

class PoolThread {
 public:
  // Opens the log and starts the zygote. Fails as Pool::open() does.
  static Result<std::unique_ptr<PoolThread>> start(PoolOptions options);
  // Cancels what is not done, ends every worker and waits for that.
  ~PoolThread();

  // For callers, from any thread; as Pool has them.
  std::shared_ptr<FutureState> submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done,
                                      std::string label = {});
  void drain();
  PoolProgress progress() const;
  Status status() const;

 private:
  // Tags in the wait set. A worker's tag is its id; ids begin with 1.
  static constexpr uint64_t kWakeUp = 0, kZygote = std::numeric_limits<uint64_t>::max();

  // The pool's end of what connects it with one worker.
  struct Connection {
    WorkerRole role = WorkerRole::compile;
    Channel channel = {};
    LastWords words = {};
    bool open = true;
  };

  explicit PoolThread(PoolOptions options) : options_(std::move(options)) {}
  Status prepare();

  void run();
  void begin();
  // Waits until something happens, and puts into `talking` which workers have sent something, and kZygote where the zygote has.
  // False: the pool is being closed.
  bool wait(std::vector<uint64_t>& talking);
  void take_turn(const std::vector<uint64_t>& talking);
  void take_submissions();
  enum class Reading { some, all };
  // Tells the scheduler what a worker has sent. True where the worker has sent something or has closed its connection.
  bool read(WorkerId worker, Reading reading);
  bool read_messages(WorkerId worker, Connection& connection, bool& broken);
  void read_zygote();
  // Tells the scheduler which workers could not be started. Must not be called while a worker's messages are read.
  void report_not_started();
  // Has the scheduler give up, whatever fails meanwhile, and carries out what follows.
  void give_up(const Status& reason);
  // Carries out the commands that there are, so that their memory is free again. Failures are ignored.
  void deliver_what_is_ready();

  // Carries out every command, even after one has failed. Then throws the first failure, as a std::runtime_error.
  void execute();
  void carry_out(StartWorker& command);
  void carry_out(KillWorker& command);
  void carry_out(KillZygote& command);
  void carry_out(SendToWorker& command);
  void carry_out(ListenToWorker& command);
  void carry_out(DeliverResult& command);
  void carry_out(DeliverTimes& command);
  void carry_out(SetStatus& command);
  Status start_worker(const StartWorker& command);
  void write_to_log(const DeliverResult& delivery);
  void count(const PoolResult& result);
  void call_back(const FutureState& future, const PoolResult& result);
  void publish_progress();

  PoolOptions options_;
  std::shared_ptr<WakeUp> wake_up_;
  WaitSet wait_set_;
  ResultLog log_;
  std::optional<ZygoteProcess> zygote_;
  std::map<WorkerId, Connection> connections_;
  std::optional<Scheduler> scheduler_;
  std::vector<JobId> cancelled_;
  std::deque<std::pair<WorkerId, Status>> not_started_;  // workers of which report_not_started() is to tell, with the reason

  // Shared with callers.
  mutable std::mutex mutex_;
  std::condition_variable drained_;
  std::map<JobId, Job> submitted_;
  JobId next_job_ = 1;
  bool closing_ = false;
  PoolProgress progress_;
  uint64_t delivered_ = 0;  // how many futures have their result
  std::optional<PoolTime> first_ready_;
  Status status_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mneme
