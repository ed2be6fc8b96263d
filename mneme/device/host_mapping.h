// HostMapping: host memory that kernels reach too, at the same address on the host and on the device.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// The size of a page of the host. Address and size of a HostMapping are multiples of it.
inline constexpr Bytes kHostPage{4096};

// Owns the memory. It is unmapped when the object is destroyed; nothing on the device may use it then.
class HostMapping {
 public:
  virtual ~HostMapping() = default;
  DevicePtr address() const { return address_; }
  Bytes size() const { return size_; }

 protected:
  HostMapping(DevicePtr address, Bytes size) : address_(address), size_(size) {}

 private:
  DevicePtr address_;
  Bytes size_;
};

}  // namespace mneme
