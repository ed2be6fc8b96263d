// PageableMemory: memory of the host that no call of the vendor has allocated or registered: of malloc, the stack, mmap,
// variables of the program. Some devices reach it by themselves (Vendor::reaches_pageable_memory()), and it is not captured: see
// ADR 64.
//
// What is asked here is whether the host has data at an address. Pinned and managed memory is such data too: that an address is
// none of these the caller knows, or the vendor. Thread-safe.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/device/host_mappings.h"
#include "mneme/record/state_capture.h"

namespace mneme {

class PageableMemory {
 public:
  // `first_space` is where the recorder's range on device 0 begins. No address in the ranges of the recorder is pageable memory.
  explicit PageableMemory(DevicePtr first_space) : first_space_(first_space) {}

  // Whether the host may have memory at an address at all. Costs next to nothing, and looks at no memory.
  bool may_lie_at(DevicePtr address) const;
  // Whether an address may be one of pageable memory. Costs next to nothing where none may lie, and else a system call;
  // what the process has mapped is read once, and again for an address that was not data then.
  bool may_hold(DevicePtr address);
  // All that may be, by address, without this memory and what is so close to it that an address stands for it (ReachableMemory).
  // What the process has mapped is read for it anew, unless that was done so shortly before that reading would take much of the
  // time.
  std::vector<MemoryRange> without(const StateCapture::Memory& known);

 private:
  using Clock = std::chrono::steady_clock;
  void read_mappings();
  bool in_ranges_of_recorder(DevicePtr address) const;

  const DevicePtr first_space_;
  std::mutex mutex_;
  HostMappings mappings_;
  Clock::time_point read_;  // when it was
  Clock::duration took_{};
};

}  // namespace mneme
