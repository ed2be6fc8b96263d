// What is told of a kernel that took the device with it.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

// The fault with the kernel's name, as its author wrote it, and the launch before it, and what may tell more behind it; any other
// status as it is, and a fault that names its kernel already, as those of the CPU device do.
Status name_kernel(const Status& status, const std::string& kernel, const LaunchShape& shape);

}  // namespace mneme
