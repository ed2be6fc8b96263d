// LaunchLimits: what a program has asked of the device for its kernels beyond what each context has (cudaDeviceSetLimit), and
// without which they fail.
#pragma once

#include <cstdint>

#include "mneme/base/types.h"

namespace mneme {

struct LaunchLimits {
  Bytes stack;                    // of a thread, for calls whose depth the compiler does not know; zero: no more than usual
  uint64_t pending_launches = 0;  // that kernels have made and that wait; zero: no more than usual
  friend bool operator==(const LaunchLimits&, const LaunchLimits&) = default;
};
// What CUDA gives a context that is asked for nothing.
inline constexpr Bytes kUsualDeviceStack{1024};
inline constexpr uint64_t kUsualPendingLaunches = 2048;

}  // namespace mneme
