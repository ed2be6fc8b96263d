// Occupancy: how many of the threads that a multiprocessor can hold a kernel uses.
#pragma once

#include <optional>

#include "mneme/device/device.h"

namespace mneme {

struct Occupancy {
  uint32_t active_blocks = 0;  // blocks that run at once on one multiprocessor
  double warps = 0;            // warps of those blocks, divided by the most that a multiprocessor can hold: 0 to 1
};

// The occupancy of a launch of that shape, from what the driver says of the loaded kernel. Nothing where the device has no such
// limits (the CPU). Failures are the driver's.
Result<std::optional<Occupancy>> occupancy_of(const Kernel& kernel, const LaunchShape& shape, const DeviceProperties& device);

}  // namespace mneme
