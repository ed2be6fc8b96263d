// The limits that hold where nobody gives others: how long what may hang is waited for, and how much memory a compilation may
// take. docs/reference/cli.md, "Default limits", has them for users.
//
// Somebody waits for the one launch that `mneme replay`, `ir`, `check` or `diff` works on, and a limit that is too short loses
// the answer. A pool tries thousands of configurations, and a limit that is too long costs a worker's time for each that hangs.
#pragma once

#include <chrono>

#include "mneme/base/types.h"

namespace mneme {

struct DefaultLimits {
  std::chrono::seconds compiling;  // one compilation
  std::chrono::seconds running;    // one step on the device
  std::chrono::seconds preparing;  // a device: for one launch, each step of it; in a pool, a worker's start
};
inline constexpr DefaultLimits kLimitsOfOneLaunch{
    .compiling = std::chrono::seconds(120), .running = std::chrono::seconds(60), .preparing = std::chrono::seconds(120)};
inline constexpr DefaultLimits kLimitsOfAPool{
    .compiling = std::chrono::seconds(60), .running = std::chrono::seconds(10), .preparing = std::chrono::seconds(120)};
// That one compilation may take beside what its process has already, of one launch and in a pool.
inline constexpr Bytes kCompileMemory = 8_GiB;

}  // namespace mneme
