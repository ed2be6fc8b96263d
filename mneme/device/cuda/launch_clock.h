// LaunchClock: what times launches on a device: CUPTI's activity records where CUPTI opens, else CUDA events. The environment
// variable MNEME_CLOCK (cupti or event) allows only one of them.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mneme/device/cuda/activity_clock.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

struct LaunchClock {
  ActivityClock* activity = nullptr;  // null: events
  DeviceClock name;
};

// Chooses the clock when it is first needed: starting CUPTI takes some milliseconds, and from then on every launch takes some
// microseconds more. Thread-safe.
class LazyLaunchClock {
 public:
  explicit LazyLaunchClock(std::vector<std::string> cupti_paths) : cupti_paths_(std::move(cupti_paths)) {}
  // unavailable, with the reason: MNEME_CLOCK is cupti, and CUPTI does not open. invalid_argument: MNEME_CLOCK is another word.
  // After a failure the next call tries again.
  Result<LaunchClock> get();

 private:
  std::vector<std::string> cupti_paths_;
  std::mutex mutex_;
  std::optional<LaunchClock> clock_;
};

}  // namespace mneme::cuda
