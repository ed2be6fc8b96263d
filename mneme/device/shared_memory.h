// SharedMemory: device memory that several processes have, so that it outlives each of them.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// Unmapped when destroyed; nothing on the device may use it then. The memory itself goes with the last process that has it, or a
// descriptor of it.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  DevicePtr address() const { return address_; }
  Bytes size() const { return size_; }
  // What Device::import_shared() takes, also in another process.
  virtual Result<Descriptor> share() const = 0;

 protected:
  SharedMemory(DevicePtr address, Bytes size) : address_(address), size_(size) {}

 private:
  DevicePtr address_;
  Bytes size_;
};

}  // namespace mneme
