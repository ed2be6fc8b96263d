#include "mneme/device/gpu/gpu_pinned_memory.h"

namespace mneme::gpu {

Result<std::unique_ptr<PinnedMemory>> GpuPinnedMemory::allocate(const Context& context, Bytes size) {
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  void* host = nullptr;
  MNEME_TRY(context.check_call(context.api().allocate_host(&host, size.count), context.words().allocate_host, "({})", size));
  return std::unique_ptr<PinnedMemory>(new GpuPinnedMemory(context, {static_cast<std::byte*>(host), size.count}));
}

GpuPinnedMemory::~GpuPinnedMemory() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.api().free_host(bytes().data());
}

}  // namespace mneme::gpu
