#include "mneme/device/cuda/cuda_pinned_buffer.h"

namespace mneme::cuda {

Result<std::unique_ptr<PinnedBuffer>> CudaPinnedBuffer::allocate(const Context& context, Bytes size) {
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  void* memory = nullptr;
  MNEME_TRY(
      context.check(context.driver().cuMemHostAlloc(&memory, size.count, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc({})", size));
  return std::unique_ptr<PinnedBuffer>(new CudaPinnedBuffer(context, {static_cast<std::byte*>(memory), size.count}));
}

CudaPinnedBuffer::~CudaPinnedBuffer() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.driver().cuMemFreeHost(bytes().data());
}

}  // namespace mneme::cuda
