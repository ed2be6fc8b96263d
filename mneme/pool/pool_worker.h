// PoolWorker: one worker process as the scheduler knows it. It is in one state, has jobs, and its time is over at some point.
//
//                become_ready()            expect_end()
//     starting ─────────────────▶ serving ─────────────▶ ending         it has sent the failure for which it ends
//        │                          │  │ disconnect()      │
//        │                          │  └────────────▶ disconnected      it had jobs when it closed its connection
//        │                          │                      │
//        └──────────┬───────────────┴───────────┬──────────┘
//                   │ kill()                    │
//                   └────────▶ killed ◀─────────┘                       the zygote was told to end it
//
// What became of the jobs of a disconnected worker follows from how its process ends.
// From every state the end of the process, which the zygote tells, takes the worker out of the scheduler. Only a worker that
// serves is given jobs. A keeper has no jobs and stays in `starting`: it says nothing.
#pragma once

#include <deque>
#include <string>

#include "mneme/pool/limits.h"

namespace mneme {

using WorkerId = uint64_t;

// How many jobs a device worker has at hand, by how long they take: three, or as many as take 10 ms.
class JobPace {
 public:
  static constexpr size_t kLeast = 3, kMost = 16;

  void job_began(PoolTime now);
  size_t depth() const;

 private:
  PoolTime last_began_ = {};
  PoolClock::duration a_job_ = {};  // from one that began to the next, as of late; 0: not known
};

class PoolWorker {
 public:
  enum class State { starting, serving, ending, disconnected, killed };
  // Why its process ends: what it announced, else what became known first.
  enum class Cause {
    unknown,      // nothing: it ended by itself, or somebody killed it
    announced,    // it sent a failure after which it ends
    idle_close,   // it closed its connection while it had nothing to do
    out_of_time,  // it did not start, or a job took longer than its limit
    broken,       // it sent what is no message, or closed its connection and went on
  };

  // A compile worker has its next job at hand too, so that it need not wait for it.
  static constexpr size_t kCompileDepth = 2;

  PoolWorker(WorkerId id, WorkerRole role, int device, PoolTime deadline)
      : id_(id), role_(role), device_(device), deadline_(deadline) {}

  WorkerId id() const { return id_; }
  WorkerRole role() const { return role_; }
  int device() const { return device_; }
  State state() const { return state_; }
  Cause cause() const { return cause_; }
  // Whether it was ever ready, whatever its state is now.
  bool has_started() const { return started_; }
  // Why it cannot start, as it said itself.
  const std::string& refusal() const { return refusal_; }
  void refuse(std::string reason) { refusal_ = std::move(reason); }

  // The transitions. Each is false, and changes no state, where the state does not allow it; that it was ready once, and what it
  // announced, counts all the same when it is heard from a worker that is being killed.
  bool become_ready();
  bool expect_end();
  bool disconnect(PoolTime now);
  bool kill(Cause cause, PoolTime now);

  // When its time is over. A worker that is being killed keeps the zygote's deadline.
  PoolTime deadline() const { return deadline_; }
  void extend_to(PoolTime deadline);

  // Jobs that it has been given and that have not ended, in order: on a compile worker, and once it has begun on a device
  // worker, the first is under way.
  const std::deque<JobId>& jobs() const { return jobs_; }
  // Jobs that have run on the device, before those, and whose results are still to come.
  const std::deque<JobId>& awaited() const { return awaited_; }
  bool has(JobId job) const;
  size_t load() const { return jobs_.size() + awaited_.size(); }
  // Whether the first job runs.
  bool is_running() const { return role_ == WorkerRole::compile || began_; }
  // The job whose object is being loaded while another runs; 0: none.
  JobId loading() const { return loading_; }
  // Whether it may be given another job.
  bool has_room() const;

  void give(JobId job, PoolTime now);
  void set_loading(JobId job) { loading_ = job; }
  void begin(JobId job, PoolTime now);
  // The job has ended, or is elsewhere: how long the worker was busy since it began, or since the last one ended.
  PoolClock::duration end(JobId job, PoolTime now);
  void drop_jobs();

 private:
  WorkerId id_;
  WorkerRole role_;
  int device_;
  State state_ = State::starting;
  Cause cause_ = Cause::unknown;
  bool started_ = false;
  std::string refusal_;
  PoolTime deadline_;

  std::deque<JobId> jobs_, awaited_;
  bool began_ = false;
  JobId loading_ = 0;
  JobPace pace_;
  PoolTime busy_since_ = {};  // while it has jobs
};

}  // namespace mneme
