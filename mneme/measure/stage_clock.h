// StageClock: how long each of a row of steps takes.
#pragma once

#include <chrono>
#include <utility>

#include "mneme/device/device.h"

namespace mneme {

class StageClock {
 public:
  // Since the last call, or since this was made.
  Nanoseconds lap() {
    auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_, now);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace mneme
