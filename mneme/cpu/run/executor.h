// Executor: runs the launches of one CPU device on its workers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cpu/run/fault.h"
#include "mneme/cpu/run/image.h"
#include "mneme/cpu/run/scheduler.h"
#include "mneme/cpu/run/worker_pool.h"
#include "mneme/device/device.h"

namespace mneme::cpu {

// The most threads that a cooperative launch may have. Each of them keeps a stack as long as the launch runs.
inline constexpr uint64_t kMaxCooperativeThreads = 1 << 18;

// Thread-safe: launches take turns.
class Executor {
 public:
  explicit Executor(unsigned workers);

  unsigned workers() const { return pool_.workers(); }
  WorkerPool& pool() { return pool_; }
  Heap& heap() { return heap_; }
  TextureTable& textures() { return textures_; }

  // Runs a whole launch; the calling thread is one of the workers. device_fault: the kernel faulted (fault() tells how), or one
  // did before. invalid_argument: too few bytes of parameters, or a cooperative launch of too many threads. exhausted: there is
  // no memory for stacks or shared memory.
  Status run(const CpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters);

  // Sets the order of blocks for launches from now on, as mneme::order_blocks() says. With a seed one worker runs all blocks.
  void order_blocks(std::optional<uint64_t> seed) {
    std::lock_guard lock(launching_);
    order_ = seed;
  }

  // The fault of a kernel, after which the device is of no further use; nothing before.
  std::optional<Fault> fault() const;
  // device_fault after a fault, else ok.
  Status usable() const;

 private:
  WorkerPool pool_;
  Heap heap_;
  TextureTable textures_;
  std::mutex launching_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::optional<uint64_t> order_;  // of blocks; guarded by launching_
  mutable std::mutex mutex_;
  std::optional<Fault> fault_;
};

}  // namespace mneme::cpu
