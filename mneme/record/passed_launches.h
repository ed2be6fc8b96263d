// PassedLaunches: what a thread keeps of launches that were looked at and not recorded, so that the next ones pass by it alone.
//
// Most launches of a program are not recorded, for a reason that holds for every launch of their kernel. Such a launch is found
// by the handle that the program gives, without a lock, counted, and made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mneme/record/shape_counts.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme {

struct PassedLaunch {
  const void* handle = nullptr;  // what the program launches the kernel by
  uint64_t decision = 0;         // what is kept holds as long as the recorder's number of decisions is this one
  RecordingReport* report = nullptr;
  ShapeCounts* shapes = nullptr;  // where launches are counted by their shape; null: they are not
  NotRecorded reason{};

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
  // What this thread keeps of the handle; null: nothing that holds.
  static const PassedLaunch* find(const void* handle, uint64_t decision) {
    if (!own_) return nullptr;
    const PassedLaunch& known = own_->of(handle);
    return known.handle == handle && known.decision == decision ? &known : nullptr;
  }
  // Keeps it for this thread, in the place of what was kept there. Where there is no memory it is not kept.
  static void keep(const PassedLaunch& launch);

 private:
  struct Kept {
    std::array<PassedLaunch, 16> launches;
    PassedLaunch& of(const void* handle) { return launches[reinterpret_cast<uintptr_t>(handle) / 16 % launches.size()]; }
  };
  // A pointer has room in the memory that each thread of a program begins with, also when this library is loaded later, and is
  // reached without a call.
  static inline constinit thread_local Kept* own_ [[gnu::tls_model("initial-exec")]] = nullptr;
};

}  // namespace mneme
