// Limits of a device's context that kernels of a recording need.
#pragma once

#include "mneme/base/launch_limits.h"
#include "mneme/device/device.h"

namespace mneme {

// Gives later launches of the device as much as `limits` has, where they have less. They stay for the life of the device. A
// device that has no such limits needs none. exhausted: the device has not the memory, which it takes for all threads that can be
// there at once. Other failures are the driver's, such as invalid_argument for a limit that the device does not take.
Status raise_limits(Device& device, const LaunchLimits& limits);

}  // namespace mneme
