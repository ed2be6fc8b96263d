// PoolWorker: one worker process as the scheduler knows it: its state, its jobs, and the time at which its patience with it ends.
//
//                become_ready()            expect_end()
//     starting ─────────────────▶ serving ─────────────▶ ending         it has sent the failure for which it ends
//        │                          │  │ disconnect()      │
//        │                          │  └────────────▶ disconnected      it closed its connection while it had jobs
//        │                          │                      │
//        └──────────┬───────────────┴───────────┬──────────┘
//                   │ kill()                    │
//                   └────────▶ killed ◀─────────┘                       the zygote was told to end it
//
// In every state the end of the process, which the zygote tells, takes the worker out of the scheduler. What became of the jobs
// of a disconnected worker follows from how its process ends. Only a worker that serves is given jobs. A keeper sends nothing and
// has no jobs, and stays in `starting`.
#pragma once

#include <deque>
#include <string>

#include "mneme/pool/limits.h"

namespace mneme {

using WorkerId = uint64_t;

// How many jobs a device worker is to have at hand: as many as take 10 ms by the pace of the last ones, but 3 to 16.
class JobPace {
 public:
  static constexpr size_t kLeast = 3, kMost = 16;

  // A job has begun on the device.
  void job_began(PoolTime now);
  size_t depth() const;
  bool is_known() const { return a_job_ != PoolClock::duration::zero(); }

 private:
  PoolTime last_began_ = {};
  PoolClock::duration a_job_ = {};  // from one that began to the next, as of late; 0: not known
};

class PoolWorker {
 public:
  enum class State { starting, serving, ending, disconnected, killed };
  // Why its process ends: what it announced itself, else what the pool found first.
  enum class Cause {
    unknown,      // nothing is known: it ended by itself, or somebody killed it
    announced,    // it sent a failure after which it ends
    idle_close,   // it closed its connection while it had nothing to do
    out_of_time,  // it did not start in time, or a job took longer than its limit
    broken,       // it sent something that is no message, or closed its connection and went on
  };

  // How many jobs a compile worker has at hand: at least the one under way and the next, for which it then need not wait; and as
  // many at most as it assembles together.
  static constexpr size_t kCompileDepth = 2, kMostCompileDepth = 8;

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

  // The transitions of the diagram. Each returns false, and leaves the state as it is, where the state does not allow it. What a
  // worker says while it is being killed counts all the same: become_ready() and expect_end() note it in has_started() and
  // cause().
  bool become_ready();
  bool expect_end();
  bool disconnect(PoolTime now);
  bool kill(Cause cause, PoolTime now);

  // When its time is over. extend_to() does nothing for a worker that is being killed: it keeps the deadline of its killing.
  PoolTime deadline() const { return deadline_; }
  void extend_to(PoolTime deadline);

  // Jobs that it has been given and that have not run to their end, in order. The first is under way: on a compile worker always,
  // on a device worker once the job has begun there.
  const std::deque<JobId>& jobs() const { return jobs_; }
  // Jobs of a device worker that have run, before those, and whose results are still to come. Of a compile worker: that are
  // translated, and to be assembled.
  const std::deque<JobId>& awaited() const { return awaited_; }
  bool has(JobId job) const;
  size_t load() const { return jobs_.size() + awaited_.size(); }
  // Whether the first of jobs() is under way.
  bool is_running() const { return began_ || (role_ == WorkerRole::compile && !joined_); }
  // Whether a compile worker assembles all of awaited() together.
  bool is_joined() const { return joined_; }
  // The job whose object is being loaded while another runs; 0: none.
  JobId loading() const { return loading_; }
  // Whether it may be given another job; a compile worker has `compile_depth` at most.
  bool has_room(size_t compile_depth = kCompileDepth) const;
  // Whether it is a device worker that has run jobs, and takes them faster than they come.
  bool is_short_of_jobs() const { return role_ == WorkerRole::device && pace_.is_known() && has_room(); }

  void give(JobId job, PoolTime now);  // behind the jobs that it has
  void set_loading(JobId job) { loading_ = job; }
  // The job has begun: those before it have run, or are translated, and are awaited.
  void begin(JobId job, PoolTime now);
  // The same of a job that was noted, and not told, when the worker's process ended. Does nothing where it was told, or has
  // ended; nor where the worker was killed for what it said: it went on after that, with jobs that are not to blame.
  void note_began(JobId job, PoolTime now);
  // The compile worker assembles the job and those before it.
  void join(JobId job);
  // Takes the job from the worker: it has ended, or goes on elsewhere. Returns how long the worker was busy since it got a first
  // job, or since the last call.
  PoolClock::duration end(JobId job, PoolTime now);
  void drop_jobs();

 private:
  WorkerId id_;
  WorkerRole role_;
  int device_;
  State state_ = State::starting;
  Cause cause_ = Cause::unknown;
  bool started_ = false;
  bool is_garbled_ = false;  // killed for a message that was none, or not one that it may send
  std::string refusal_;
  PoolTime deadline_;

  std::deque<JobId> jobs_, awaited_;
  bool began_ = false, joined_ = false;
  JobId loading_ = 0;
  JobPace pace_;
  PoolTime busy_since_ = {};  // while it has jobs
};

}  // namespace mneme
