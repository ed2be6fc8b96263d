// Pool: many configurations of one recorded kernel, compiled ahead by worker processes and measured one at a time on each device.
//
//   auto pool = Pool::open({.database = "record-db", .static_hash = kernel, .instances = {instance}});
//   Future future = (*pool)->submit(configuration);
//   PoolResult result = future.get();
//
// Whatever a configuration does to the process that compiles or runs it, it ends in exactly one result, and the others go on:
// processes are the wall (docs/adr/0004-pool.md). Results come in the order in which they are done.
//
// Thread-safe. Futures may outlive the pool: what is not done when it is closed is cancelled. In this process it has one thread,
// and descriptors: two for each worker, one for each object that it keeps (128) or that waits for a device, and up to four for
// each instance on each device. Opening one raises this process's soft limit of open files (RLIMIT_NOFILE) to the hard one, 65536
// at most, which workers inherit. It starts one child process, of which all others are; they end with this process however it
// ends. Configurations are held in memory from when they are submitted, and what they ended in as long as the pool is.
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

// More than 10 years is no limit.
struct PoolLimits {
  using Seconds = std::chrono::duration<double>;
  Seconds compiling = kLimitsOfAPool.compiling;  // one configuration, from the worker's start on it
  // One step on the device: the restored and verified run, or a timed run (of short ones: those that are waited for together).
  Seconds running = kLimitsOfAPool.running;
  Seconds starting =
      kLimitsOfAPool.preparing;           // a worker, until it is ready: a device worker brings the recorded memory to the device
  Bytes compile_memory = kCompileMemory;  // that one compilation may take in addition
};

struct PoolOptions {
  Path database;                  // the folder
  Digest static_hash;             // the kernel
  std::vector<Digest> instances;  // at least one; a configuration must be right on each
  DeviceKind device_kind = DeviceKind::cuda;
  std::vector<int> devices = {0};  // ordinals; all_devices() are all
  unsigned compile_workers = 0;    // 0: usual_compile_workers()
  // What the compiler is asked the same for is compiled once, what ends in the same object and launch is measured once, and what
  // fails there fails once: the others' results are Origin::shared. False: each is done for itself.
  bool share = true;
  PoolLimits limits;
  Path log;             // JSON lines, see result_log.h; empty: none
  bool resume = false;  // what `log` has is not measured again
  Path command;         // that workers run in; empty: $MNEME_COMMAND, else that of the library's prefix, else of the PATH
  std::vector<std::string> command_arguments = {"worker"};
};

// All that the driver shows, for PoolOptions::devices. unavailable: there is none.
Result<std::vector<int>> all_devices(DeviceKind kind);

// As many as there are cores beside the devices' workers, at least one.
unsigned usual_compile_workers(size_t devices);

class Future {
 public:
  // Waits.
  PoolResult get() const;
  bool wait_for(std::chrono::duration<double> time) const;  // true: there is a result
  bool done() const { return wait_for({}); }
  // Gives it up: what has not begun does not, what is being timed ends after the run that is under way. It is
  // Failure::cancelled then, and keeps its times, in the log too; no run resumes from it.
  void cancel() const;
  // Times as they come, before the result.
  std::vector<Nanoseconds> times_so_far() const;

 private:
  friend class Pool;
  explicit Future(std::shared_ptr<struct FutureState> state) : state_(std::move(state)) {}
  std::shared_ptr<struct FutureState> state_;
};

struct PoolProgress {
  uint64_t submitted = 0, done = 0, measured = 0, shared = 0, resumed = 0;
  std::map<Failure, uint64_t> failures;
  uint64_t compiling = 0, ready = 0, measuring = 0;
  uint64_t distinct_objects = 0;
  uint64_t workers_replaced = 0;
  uint64_t devices_ready = 0;  // whose worker has the recorded memory there
  Nanoseconds device_busy{};   // all devices added
  Nanoseconds compile_busy{};  // all compile workers added
  Nanoseconds passed{};        // since the first worker was ready
  std::optional<Nanoseconds> best_time;
};

class Pool {
 public:
  // Starts the workers; returns before they are ready. invalid_argument: no instance, no device, a limit that is no time.
  // not_found: the database has no such kernel. unavailable: there is no command, it does not start, or no thread is to be had.
  // What a log says: see ResultLog::open.
  static Result<std::unique_ptr<Pool>> open(PoolOptions options);
  // Cancels what is not done, ends every worker and waits for that.
  ~Pool();

  // Never fails as a call, but for memory: what cannot be compiled, or is no UTF-8, ends in a result that says so. `on_done` is
  // called on the pool's own thread: it must be short and not call the pool. progress() counts the result already. What it throws
  // is status() from then on; every future has its result nevertheless.
  Future submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done = {});
  // The same, but measured for itself whatever is known already: for a baseline. The result and its line in the log have the
  // label; nothing is shared with it, and no run resumes from it.
  Future measure_anew(const Configuration& configuration, std::string label, std::function<void(const PoolResult&)> on_done = {});
  // Waits until everything that was submitted is done.
  void drain();
  PoolProgress progress() const;
  // Why the pool gave up, since its workers do not start, or there are too many open files, or its own thread ran out of memory;
  // then whatever was or is submitted fails as worker_lost. Or, with which it goes on: its log cannot be written any more, a
  // caller's on_done threw. ok while all is well.
  Status status() const;

 private:
  explicit Pool(std::unique_ptr<class PoolThread> thread);
  std::unique_ptr<class PoolThread> thread_;
};

}  // namespace mneme
