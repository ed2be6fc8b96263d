// Pinned host memory of the driver, which kernels reach at its own address.
#pragma once

#include <memory>

#include "mneme/device/gpu/context.h"
#include "mneme/device/pinned_memory.h"

namespace mneme::gpu {

class GpuPinnedMemory final : public PinnedMemory {
 public:
  // What Device::allocate_pinned() promises.
  static Result<std::unique_ptr<PinnedMemory>> allocate(const Context& context, Bytes size);
  ~GpuPinnedMemory() override;

 private:
  GpuPinnedMemory(const Context& context, MutableByteSpan bytes) : PinnedMemory(bytes), context_(context) {}

  const Context& context_;
};

}  // namespace mneme::gpu
