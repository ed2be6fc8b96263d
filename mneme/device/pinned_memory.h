// PinnedMemory: host memory that a device copies to and from at the full rate of its bus.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// Owns the memory. It is freed when the object is destroyed; nothing on the device may use it then.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  MutableByteSpan bytes() const { return bytes_; }

 protected:
  explicit PinnedMemory(MutableByteSpan bytes) : bytes_(bytes) {}

 private:
  MutableByteSpan bytes_;
};

}  // namespace mneme
