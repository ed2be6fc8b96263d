// Host memory without a name, which devices of the kinds cpu and fake share between processes.
#pragma once

#include <memory>

#include "mneme/device/shared_memory.h"

namespace mneme {

// As Device::allocate_shared() and Device::import_shared().
Result<std::unique_ptr<SharedMemory>> allocate_shared_host_memory(Bytes size);
Result<std::unique_ptr<SharedMemory>> import_shared_host_memory(const Descriptor& descriptor, Bytes size);

}  // namespace mneme
