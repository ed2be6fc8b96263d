// Host memory that the driver has pinned.
#pragma once

#include <memory>

#include "mneme/device/cuda/context.h"
#include "mneme/device/pinned_buffer.h"

namespace mneme::cuda {

class CudaPinnedBuffer final : public PinnedBuffer {
 public:
  // What Device::pinned_buffer() promises.
  static Result<std::unique_ptr<PinnedBuffer>> allocate(const Context& context, Bytes size);
  ~CudaPinnedBuffer() override;

 private:
  CudaPinnedBuffer(const Context& context, MutableByteSpan bytes) : PinnedBuffer(bytes), context_(context) {}

  const Context& context_;
};

}  // namespace mneme::cuda
