// Pinned host memory of the CUDA driver, which kernels reach at its own address.
#pragma once

#include <memory>

#include "mneme/device/cuda/context.h"
#include "mneme/device/pinned_memory.h"

namespace mneme::cuda {

class CudaPinnedMemory final : public PinnedMemory {
 public:
  // What Device::allocate_pinned() promises.
  static Result<std::unique_ptr<PinnedMemory>> allocate(const Context& context, Bytes size);
  ~CudaPinnedMemory() override;

 private:
  CudaPinnedMemory(const Context& context, MutableByteSpan bytes) : PinnedMemory(bytes), context_(context) {}

  const Context& context_;
};

}  // namespace mneme::cuda
