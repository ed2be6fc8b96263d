// LaunchClock: what times launches on a device, chosen when it is first needed: CUPTI where it opens, else events. MNEME_CLOCK
// (cupti, event) allows only one.
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

// Thread-safe. Starting CUPTI takes some milliseconds, and from then on every launch some microseconds.
class LazyLaunchClock {
 public:
  explicit LazyLaunchClock(std::vector<std::string> cupti_paths) : cupti_paths_(std::move(cupti_paths)) {}
  // unavailable, with the reason, when MNEME_CLOCK is cupti and it does not open; invalid_argument for another word.
  Result<LaunchClock> get();

 private:
  std::vector<std::string> cupti_paths_;
  std::mutex mutex_;
  std::optional<LaunchClock> clock_;
};

}  // namespace mneme::cuda
