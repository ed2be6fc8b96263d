// Scheduler: decides which worker of a pool gets which configuration, what becomes of the results, and when workers are started,
// killed and replaced.
//
//   submit() ─▶ to_compile ─▶ a compile worker translates ─┬▶ assembles ──────────────▶ to_measure ─▶ a device worker ─▶ result
//                   └▶ waits for the same request ─────────┴▶ waits for the same code ─┘     └▶ waits for the same launch of it
//
// It does no input and output. The pool's thread (pool_thread.h) tells it what happened and at what time, and then carries out
// the commands that it returns. A test can therefore bring it into each of its states with no process, no clock and no disk. Its
// parts can be read alone:
//   pool_worker.h  a worker: its states and transitions         sharing.h   what configurations have in common
//   limits.h       limits of time, workers that do not start    fairness.h  whose turn it is
//   blame.h        which job is charged with a lost worker      messages.h  what it says to workers, and they to it
//   translation_homes.h  which compile worker has translated what
//
// Used by one thread.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mneme/pool/blame.h"
#include "mneme/pool/commands.h"
#include "mneme/pool/fairness.h"
#include "mneme/pool/job.h"
#include "mneme/pool/limits.h"
#include "mneme/pool/pool.h"
#include "mneme/pool/sharing.h"
#include "mneme/pool/translation_homes.h"

namespace mneme {

// How a worker's connection has ended: it was closed, or what came over it was no message of a worker.
enum class Disconnection { closed, broken };

class Scheduler {
 public:
  // `known` are the results of an earlier run, by whole_digest(), and must outlive the scheduler.
  Scheduler(const PoolOptions& options, const std::map<Digest, PoolResult>& known);

  // The events, which tell the scheduler what happened. Each may leave commands for take_commands().
  void start(PoolTime now);  // the first event: starts the device workers
  void submit(std::map<JobId, Job> jobs);
  void cancel(std::span<const JobId> jobs);
  void receive(WorkerId worker, FromWorker message, PoolTime now);
  void disconnected(WorkerId worker, Disconnection how, PoolTime now);
  void worker_ended(WorkerId worker, const WorkerEnd& end, PoolTime now);
  // The command to start this worker could not be carried out: the pool gives up.
  void not_started(WorkerId worker, Status why);
  // The time is `now`: workers whose deadline has passed are listened to, or killed. Called when next_alarm() is due, or earlier.
  void alarm(PoolTime now);
  // ListenToWorker was carried out; `had_said_something`: the worker had sent something or closed its connection, and has its
  // time anew. If not it is killed.
  void listened(WorkerId worker, bool had_said_something, PoolTime now);
  // The zygote has ended, and every worker with it: the pool gives up.
  void zygote_lost(const Status& why);
  // The pool cannot go on: whatever was or is submitted fails as worker_lost, with the reason.
  void give_up(Status reason);
  // Something failed without which the pool can go on. The first such failure becomes the pool's status.
  void note_failure(Status failure);
  // The pool is closed: configurations that have no result are cancelled.
  void close();

  // Gives workers the jobs that they have room for. It is the last event of each turn, so that everything that happened meanwhile
  // is known by then.
  void hand_out(PoolTime now);

  // What is to be done now; each command is returned once.
  std::vector<Command> take_commands();
  // When alarm() is next due; kNever: no worker has a deadline.
  PoolTime next_alarm() const;
  // Fills in what the scheduler knows: how many jobs are where, objects, replaced workers and busy times.
  void describe(PoolProgress& progress) const;
  // When the first worker was ready; nothing: none has been so far.
  std::optional<PoolTime> first_ready() const { return first_ready_; }

 private:
  enum class Life { open, given_up, closed };

  void start_worker(WorkerRole role, int device, PoolTime now);
  void send_copies(const PoolWorker& worker);
  void start_keeper(int device, PoolTime now);
  void kill(PoolWorker& worker, PoolWorker::Cause cause, PoolTime now);
  void replace(const PoolWorker& lost, const WorkerEnd& end, PoolTime now);
  void return_jobs(const PoolWorker& lost, const WorkerEnd& end);
  void give_again(WorkerRole role, const std::vector<JobId>& jobs, bool explained);

  void handle(PoolWorker& worker, WorkerReady& message, PoolTime now);
  void handle(PoolWorker& worker, WorkerRefused& message, PoolTime now);
  void handle(PoolWorker& worker, DeviceOpened& message, PoolTime now);
  void handle(PoolWorker& worker, MaskLost& message, PoolTime now);
  void handle(PoolWorker& worker, WorkerExhausted& message, PoolTime now);
  void handle(PoolWorker& worker, InstanceCopies& message, PoolTime now);
  template <typename OfJob>
  void handle(PoolWorker& worker, OfJob& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, CodeTranslated& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, TranslationBegan& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, JobsJoined& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, CodeAssembled& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, JobLoading& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, JobBegan& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, JobTimed& message, PoolTime now);
  void handle(PoolWorker& worker, Job& job, JobEnded& message, PoolTime now);

  bool needs_compiler(Job& job);
  void proceed(Job& job, NextStep step);
  void has_code(Job& job, const DeviceCode& code);
  void fail_compilation(Job& job, const PoolResult& result);
  void finish_measurement(Job& job, PoolResult result);  // for those too that wait for it
  void finish(JobId id, PoolResult result);

  void give_to_compilers(PoolTime now);
  void give_to_devices(PoolTime now);
  void give(PoolWorker& worker, Job& job, ToWorker message, PoolTime now);
  void take_back(PoolWorker& worker, Job& job, PoolTime now);  // the job is no longer the worker's

  Job* find(JobId id);
  // The first job of a queue that is still there.
  Job* take_first(std::deque<JobId>& queue);
  // The job to be compiled that suits the worker best, of some of the first: one whose translation the worker has had, else one
  // whose translation nobody has had, else the first. So is the first where it was passed over too often.
  Job* take_to_compile(WorkerId worker);
  void put_first(std::deque<JobId>& queue, const std::vector<JobId>& jobs);

  // Of the options.
  const std::vector<int> devices_;
  const unsigned compile_workers_;
  const size_t instances_;
  const std::map<Digest, PoolResult>& known_;

  Life life_ = Life::open;
  Status status_;
  std::vector<Command> commands_;

  // Queues may name jobs that are gone.
  std::map<JobId, Job> jobs_;
  std::deque<JobId> to_compile_, to_measure_;
  Sharing sharing_;
  TranslationHomes homes_;

  PoolWorkers workers_;
  bool has_zygote_ = true;
  WorkerId next_worker_ = 1;
  WorkerLimits limits_;
  FailedStarts failed_starts_;
  std::string architecture_;                                // of the devices, once one has told
  std::string no_mask_;                                     // why device workers are to look for none
  std::map<int, std::map<size_t, InstanceCopies>> copies_;  // by device and instance
  std::map<int, unsigned> keepers_started_;                 // by device

  std::optional<PoolTime> first_ready_;
  uint64_t workers_replaced_ = 0;
  PoolClock::duration compile_busy_{}, device_busy_{};
};

}  // namespace mneme
