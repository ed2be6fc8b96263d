// LaunchClock: what times launches on a GPU: records of the vendor's profiling library where that opens, else events. The
// environment variable MNEME_CLOCK allows only one of them.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/device/device.h"

namespace mneme::gpu {

// A LaunchObserver that streams use too.
class LaunchTimer : public LaunchObserver {
 public:
  // The times of launches that are done, in the order of the tags, all of which are then forgotten.
  virtual Result<std::vector<Nanoseconds>> take_all(std::span<const LaunchTag> tags) = 0;
  // Gives up the time of a launch.
  virtual void forget(LaunchTag tag) = 0;
};

struct LaunchClock {
  LaunchTimer* activity = nullptr;  // null: events
  DeviceClock name;
};

// Chooses the clock when it is first needed, since starting a profiling library takes time, and makes every launch take some
// microseconds more from then on. Thread-safe.
class LazyLaunchClock {
 public:
  virtual ~LazyLaunchClock() = default;
  // Fails as choose() does; the next call then tries again.
  Result<LaunchClock> get() {
    std::lock_guard lock(mutex_);
    if (!clock_) {
      MNEME_ASSIGN(clock_, choose());
    }
    return *clock_;
  }

 protected:
  // unavailable, with the reason: MNEME_CLOCK is the library, and it does not open. invalid_argument: MNEME_CLOCK is another
  // word.
  virtual Result<LaunchClock> choose() = 0;

 private:
  std::mutex mutex_;
  std::optional<LaunchClock> clock_;
};

// The value of MNEME_CLOCK: empty, `library` or "event". invalid_argument: it is another word.
Result<std::string> clock_wish(const char* library);

}  // namespace mneme::gpu
