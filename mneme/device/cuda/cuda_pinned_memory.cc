#include "mneme/device/cuda/cuda_pinned_memory.h"

namespace mneme::cuda {

Result<std::unique_ptr<PinnedMemory>> CudaPinnedMemory::allocate(const Context& context, Bytes size) {
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  void* host = nullptr;
  MNEME_TRY(
      context.check(context.driver().cuMemHostAlloc(&host, size.count, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc({})", size));
  return std::unique_ptr<PinnedMemory>(new CudaPinnedMemory(context, {static_cast<std::byte*>(host), size.count}));
}

CudaPinnedMemory::~CudaPinnedMemory() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.driver().cuMemFreeHost(bytes().data());
}

}  // namespace mneme::cuda
