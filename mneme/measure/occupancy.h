// How full a kernel makes a multiprocessor.
#pragma once

#include <optional>

#include "mneme/device/device.h"

namespace mneme {

struct Occupancy {
  uint32_t active_blocks = 0;  // at once on one multiprocessor
  double warps = 0;            // as a part of those that a multiprocessor can hold
};

// Nothing where the device has no such limits.
Result<std::optional<Occupancy>> occupancy_of(const Kernel& kernel, const LaunchShape& shape, const DeviceProperties& device);

}  // namespace mneme
