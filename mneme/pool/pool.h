// Pool: many configurations of one recorded kernel, compiled ahead by worker processes and measured one at a time on each device.
//
//   auto pool = Pool::open({.database = "record-db", .static_hash = kernel, .instances = {instance}});
//   Future future = (*pool)->submit(configuration);
//   PoolResult result = future.get();
//
// Each configuration ends in exactly one result, whatever it does to the process that compiles or runs it, and the others go on:
// they are kept apart by processes (docs/adr/0004-pool.md). Results come in the order in which they are done.
//
// Thread-safe. Futures may outlive the pool: configurations that are not done when it is closed are cancelled.
//
// What a pool takes of this process: one thread, and descriptors. These are two for each worker, one for each object that it
// keeps (128) or that waits for a device, and up to four for each instance on each device. Opening a pool raises this process's
// soft limit of open files (RLIMIT_NOFILE) to the hard one, at most to 65536; workers inherit it. The pool starts one child
// process, and all others are children of that one. They end with this process, however it ends. Configurations are in memory
// from when they are submitted on, and their results for as long as the pool lives.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/pool/pool_result.h"
#include "mneme/process/default_limits.h"
#include "mneme/replay/configuration.h"

namespace mneme {

// How long things may take, each more than 0 s; more than 10 years is no limit. And how much memory.
struct PoolLimits {
  using Seconds = std::chrono::duration<double>;
  Seconds compiling = kLimitsOfAPool.compiling;  // compiling one configuration
  // One step on the device: restoring, running and verifying once, or one timed run. Of runs so short that several are waited for
  // together, all of these.
  Seconds running = kLimitsOfAPool.running;
  Seconds starting =
      kLimitsOfAPool.preparing;           // a worker's start, in which a device worker brings the recorded memory to its device
  Bytes compile_memory = kCompileMemory;  // what one compilation may take beside what its process has already; 0: no limit
};

struct PoolOptions {
  Path database;                  // folder of the recording
  Digest static_hash;             // of the kernel
  std::vector<Digest> instances;  // dynamic hashes, at least one; a configuration must be right on each of these
  // One for each instance, which its times are multiplied by before they are added (weights.h); empty: each is 1.
  std::vector<double> weights = {};
  DeviceKind device_kind = DeviceKind::cuda;
  std::vector<int> devices = {0};  // ordinals, at least one; all_devices() has all of them
  // Not empty: nothing is run. Configurations are compiled for this architecture, of whichever kind of device, and their results
  // have what is known of the code (ReplayStage::compiled). `device_kind` and `devices` then say nothing.
  std::string compile_for = {};
  unsigned compile_workers = 0;  // how many; 0: usual_compile_workers()
  // Whether configurations share work. Those for which the compiler is asked the same are compiled once, and those that end in
  // the same object and launch are measured once, or fail once; the results of the others are Origin::shared. False: each
  // configuration is compiled and measured for itself.
  bool share = true;
  PoolLimits limits;
  Path log;             // where results are logged (result_log.h); empty: nowhere
  bool resume = false;  // configurations whose results the log has are not measured again
  Path command;         // the mneme that workers run; empty: worker_command()
  std::vector<std::string> command_arguments = {"worker"};
};

// The ordinals of all devices of the kind, for PoolOptions::devices. unavailable: there is none.
Result<std::vector<int>> all_devices(DeviceKind kind);

// How many compile workers a pool with so many devices has by default: one for each core that no device worker needs, at least
// one.
unsigned usual_compile_workers(size_t devices);

// The result of a configuration, which will be there later. Copies of a future have the same result.
class Future {
 public:
  // Waits for the result. There always is one.
  PoolResult get() const;
  bool wait_for(std::chrono::duration<double> time) const;  // true: there is a result
  bool done() const { return wait_for({}); }
  // Gives the configuration up, and returns at once. If it has not begun on a device it does not; if it is being timed it ends
  // after the run that is under way. Its result is Failure::cancelled then, and has the times so far, also in the log; a resumed
  // run measures it again. A result that is there already stays.
  void cancel() const;
  // The times of the timed runs so far, while there is no result yet.
  std::vector<Nanoseconds> times_so_far() const;

 private:
  friend class Pool;
  explicit Future(std::shared_ptr<struct FutureState> state) : state_(std::move(state)) {}
  std::shared_ptr<struct FutureState> state_;
};

struct PoolProgress {
  // Configurations: those with a result are `done`. Of these `measured` were timed for themselves; `shared` and `resumed` are of
  // that Origin, whatever they ended in.
  uint64_t submitted = 0, done = 0, measured = 0, shared = 0, resumed = 0;
  std::map<Failure, uint64_t> failures;  // of those done, how many failed how
  // Configurations at compile workers, compiled ones that wait for a device, and those at device workers.
  uint64_t compiling = 0, ready = 0, measuring = 0;
  uint64_t distinct_objects = 0;         // how many different codes were assembled
  uint64_t workers_replaced = 0;         // workers that were lost after their start
  uint64_t devices_ready = 0;            // devices whose worker has brought the recorded memory there
  Nanoseconds device_busy{};             // how long device workers had a job, all added
  Nanoseconds compile_busy{};            // how long compile workers had a job, all added
  Nanoseconds passed{};                  // since the first worker was ready
  std::optional<Nanoseconds> best_time;  // the shortest timed run of any right configuration
};

class Pool {
 public:
  // Starts the workers, and returns before they are ready. invalid_argument: no instance or no device is given, a time limit is
  // not more than 0, or the weights are none (check_weights()). not_found: the database has no such kernel. unavailable: there is
  // no command, it does not start, or no thread can be made. Also those of ResultLog::open(). That a worker cannot start is told
  // by status().
  static Result<std::unique_ptr<Pool>> open(PoolOptions options);
  // Cancels configurations that are not done, ends every worker, and waits for that.
  ~Pool();

  // Has the configuration compiled and measured. It never fails as a call, except that it may throw std::bad_alloc: a
  // configuration that cannot be compiled or run, even one whose texts are no UTF-8, ends in a result that says so. `on_done` is
  // called with the result on the pool's own thread, before the future has it. It must be short, and must not call the pool,
  // except for progress(), which counts the result already. What it throws is status() from then on; the future has its result
  // nevertheless.
  Future submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done = {});
  // The same, but the configuration is measured for itself, whatever is known already, as a baseline is. The result and its line
  // in the log have the label, which is not empty. Its measurement is shared with no other, and a resumed run measures it again.
  Future measure_anew(const Configuration& configuration, std::string label, std::function<void(const PoolResult&)> on_done = {});
  // Waits until everything that was submitted is done.
  void drain();
  PoolProgress progress() const;
  // What is wrong with the pool; ok while all is well. It may have given up: its workers do not start, there are too many open
  // files, or its own thread ran out of memory. Then every configuration that is not done, or is submitted later, fails as
  // worker_lost. Or it goes on, though its log cannot be written any more, or a caller's on_done threw.
  Status status() const;

 private:
  explicit Pool(std::unique_ptr<class PoolThread> thread);
  std::unique_ptr<class PoolThread> thread_;
};

}  // namespace mneme
