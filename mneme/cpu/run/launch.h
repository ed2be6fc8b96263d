// Launch: one launch while it runs, which all workers share. take(), stop() and fail() may be called by all of them at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mneme/cpu/run/block.h"
#include "mneme/cpu/run/block_order.h"
#include "mneme/cpu/run/cpu_module.h"
#include "mneme/cpu/run/dispatch.h"
#include "mneme/cpu/run/fault.h"
#include "mneme/cpu/run/image.h"
#include "mneme/device/device.h"

namespace mneme::cpu {

class Launch {
 public:
  Launch(const CpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters, unsigned workers,
         std::optional<uint64_t> order = {})
      : code_(kernel.code()),
        kernel_(kernel.entry()),
        shape_(shape),
        blocks_(shape.grid.volume()),
        parameters_(parameters.size() / sizeof(Word) + 1) {
    if (!parameters.empty()) std::memcpy(parameters_.data(), parameters.data(), parameters.size());
    dispatch_ = describe_dispatch(kernel_, shape_, parameters_.data());
    // In loop mode a worker takes runs of blocks; in fiber mode one at a time, since a block may wait for an earlier one.
    constexpr uint64_t kRunsPerWorker = 32, kLongestRun = 1024;
    if (order) order_.emplace(*order, blocks_);
    if (kernel_.mode == MNEME_CPU_LOOP && !order_)
      run_ = std::clamp<uint64_t>(blocks_ / (workers * kRunsPerWorker), 1, kLongestRun);
    share_ = shape.cooperative ? (blocks_ + workers - 1) / workers : blocks_;
  }

  const LoadedCode& code() const { return code_; }
  const mneme_cpu_kernel& kernel() const { return kernel_; }
  const LaunchShape& shape() const { return shape_; }
  const void* parameters() const { return parameters_.data(); }
  uint32_t warp_size() const { return kernel_.warp_size == 0 ? kSmallestWarp : kernel_.warp_size; }
  const mneme_cpu_dispatch& dispatch() const { return dispatch_; }
  uint32_t threads() const { return static_cast<uint32_t>(shape_.block.volume()); }
  // The most blocks that one worker takes.
  uint64_t share() const { return share_; }
  void* grid_workspace() { return shape_.cooperative ? grid_workspace_.data() : nullptr; }

  struct Range {
    uint64_t begin, end;
  };
  // The next blocks for a worker, by their numbers in the grid; empty when there are none, or the launch has failed.
  Range take() {
    if (failed()) return {0, 0};
    const uint64_t begin = next_.fetch_add(run_, std::memory_order_relaxed);
    if (begin >= blocks_) return {0, 0};
    if (!order_) return {begin, std::min(begin + run_, blocks_)};
    const uint64_t block = order_->at(begin);
    return {block, block + 1};
  }
  // From now on take() gives out no blocks: the launch will fail, but its fault is still looked into.
  void stop() { failed_.store(true, std::memory_order_relaxed); }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Ends the launch with a fault. If it has one already, that one stays.
  void fail(Fault fault) {
    std::lock_guard lock(mutex_);
    if (!fault_) fault_ = std::move(fault);
    failed_.store(true, std::memory_order_relaxed);
  }
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  // A structure by value may be aligned to as much, which code that reads it takes for granted.
  struct alignas(MNEME_CPU_PARAMETER_ALIGNMENT) Word {
    std::byte bytes[MNEME_CPU_PARAMETER_ALIGNMENT];
  };
  const LoadedCode& code_;
  const mneme_cpu_kernel& kernel_;
  const LaunchShape& shape_;
  uint64_t blocks_;
  std::optional<BlockOrder> order_;
  uint64_t run_ = 1;
  uint64_t share_ = 0;
  std::vector<Word> parameters_;
  mneme_cpu_dispatch dispatch_;
  alignas(64) std::array<std::byte, MNEME_CPU_GRID_WORKSPACE_BYTES> grid_workspace_{};
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Fault> fault_;
};

}  // namespace mneme::cpu
