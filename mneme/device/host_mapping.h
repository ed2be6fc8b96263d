// HostMapping: the host's memory that kernels reach, at the same address on both sides.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// Whole pages of the host, unmapped when destroyed; nothing on the device may use them then.
inline constexpr Bytes kHostPage{4096};

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
