// SharedMemory: device memory that several processes can have mapped.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// One process's mapping of the memory. The memory is unmapped when the object is destroyed; nothing on the device may use that
// mapping then. It is freed when no process has it mapped, or has a descriptor of it, any more.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  DevicePtr address() const { return address_; }
  Bytes size() const { return size_; }
  // A new descriptor of the memory, which Device::import_shared() takes in this process or in another one.
  virtual Result<Descriptor> share() const = 0;

 protected:
  SharedMemory(DevicePtr address, Bytes size) : address_(address), size_(size) {}

 private:
  DevicePtr address_;
  Bytes size_;
};

}  // namespace mneme
