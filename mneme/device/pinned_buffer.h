// PinnedBuffer: host memory that a device copies from and to at the full speed of the bus.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// Owns the memory. It is freed when the object is destroyed; no copy may be using it then.
class PinnedBuffer {
 public:
  virtual ~PinnedBuffer() = default;
  MutableByteSpan bytes() const { return bytes_; }

 protected:
  explicit PinnedBuffer(MutableByteSpan bytes) : bytes_(bytes) {}

 private:
  MutableByteSpan bytes_;
};

}  // namespace mneme
