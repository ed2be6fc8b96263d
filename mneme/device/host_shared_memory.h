// Host memory that processes share by a file descriptor; it has no name. Devices of the kinds cpu and fake use it.
#pragma once

#include <memory>

#include "mneme/device/shared_memory.h"

namespace mneme {

// What Device::allocate_shared() and Device::import_shared() promise. invalid_argument: the size is 0, or the descriptor is of
// smaller memory, or of none. exhausted: the system has no memory, address space or descriptor left.
Result<std::unique_ptr<SharedMemory>> allocate_shared_host_memory(Bytes size);
Result<std::unique_ptr<SharedMemory>> import_shared_host_memory(const Descriptor& descriptor, Bytes size);

}  // namespace mneme
