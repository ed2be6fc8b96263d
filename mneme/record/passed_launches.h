// PassedLaunches: what is known of launches that were looked at and not recorded, so that the next ones pass by it alone.
//
// Most launches of a program are not recorded, for a reason that holds for every launch of their kernel. Such a launch is found
// by the handle that the program gives, without a lock, counted, and made. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include "mneme/record/shape_counts.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme {

struct PassedLaunch {
  const void* handle = nullptr;  // what the program launches the kernel by
  RecordingReport* report = nullptr;
  ShapeCounts* shapes = nullptr;  // where launches are counted by their shape; null: they are not
  NotRecorded reason{};
  friend auto operator<=>(const PassedLaunch&, const PassedLaunch&) = default;

  // Counts a launch. `shape` gives that of the launch, and is called where it counts.
  template <typename Shape>
  void count(Shape shape) const {
    report->launches.fetch_add(1, std::memory_order_relaxed);
    report->not_recorded[static_cast<size_t>(reason)].launches.fetch_add(1, std::memory_order_relaxed);
    if (shapes) shapes->count(shape());
  }
};

class PassedLaunches {
 public:
  // What is kept of the handle; null: nothing that holds. It stays as long as this does.
  const PassedLaunch* find(const void* handle, uint64_t decision) const {
    const auto* const kept = slots_[slot_of(handle)].load(std::memory_order_acquire);
    if (!kept || kept->first.handle != handle || kept->second.load(std::memory_order_acquire) != decision) return nullptr;
    return &kept->first;
  }
  // Keeps it. It holds as long as the number of decisions (Selection::changes()) is this one, and another handle may take its
  // place. Not kept where another thread is just keeping something.
  void keep(const PassedLaunch& launch, uint64_t decision);

 private:
  // By what is known, the number of decisions with which it was found last. Nothing is removed, since other threads may look at
  // it: there is no more of it than handles times what the program's kernels can be known for.
  using All = std::map<PassedLaunch, std::atomic<uint64_t>>;
  static constexpr size_t kSlots = 256;
  static size_t slot_of(const void* handle) {
    const auto address = reinterpret_cast<uintptr_t>(handle);
    return (address / 16 ^ address / 4096) % kSlots;
  }

  std::array<std::atomic<const All::value_type*>, kSlots> slots_{};
  std::mutex mutex_;
  All all_;
};

}  // namespace mneme
