// What a person is told when a kernel has caused a device fault.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// Adds to a device_fault which kernel caused it, by the name that its author wrote, with which grid and block, and how more may
// be found out (--device cpu). Returns any other status as it is, and a fault that names its kernel already, as the CPU device's
// do.
Status name_kernel(const Status& status, const std::string& kernel, const LaunchShape& shape);

// Adds to a device_fault which memory the launch may lack, where that is so: it was recorded with the memory alone that pointers
// lead to, and how it is recorded with all; it held addresses of pageable memory of the host. Of a call by a pointer that was
// recorded it says that it cannot be replayed. Returns any other status as it is.
Status mention_lacking_memory(const Status& status, const InstanceRecord& instance);

}  // namespace mneme
