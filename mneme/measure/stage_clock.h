// StageClock: times a sequence of steps, each from the end of the one before, by the host's steady clock.
#pragma once

#include <chrono>
#include <utility>

#include "mneme/device/device.h"

namespace mneme {

class StageClock {
 public:
  // The time since the last call, or since the clock was made.
  Nanoseconds lap() {
    auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_, now);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace mneme
