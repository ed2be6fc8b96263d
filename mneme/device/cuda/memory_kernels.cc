#include "mneme/device/cuda/memory_kernels.h"

#include <algorithm>

namespace mneme::cuda {

Result<const MemoryKernels*> LazyMemoryKernels::get() {
  std::lock_guard lock(mutex_);
  if (kernels_ != nullptr) return kernels_.get();
  auto kernels = std::make_unique<MemoryKernels>();
  std::string_view ptx = memory_kernels_ptx();
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernels->module, CudaModule::load(context_, std::as_bytes(std::span(ptx.data(), ptx.size() + 1))));
    MNEME_ASSIGN(Kernel * compare, kernels->module->kernel("mneme_compare"));
    MNEME_ASSIGN(Kernel * hash_pages, kernels->module->kernel("mneme_hash_pages"));
    kernels->compare = static_cast<CudaKernel*>(compare)->function();
    kernels->hash_pages = static_cast<CudaKernel*>(hash_pages)->function();
    ContextScope scope(context_);
    MNEME_TRY(scope.status());
    int blocks = 1;
    MNEME_TRY(
        context_.check(context_.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels->compare, kThreads, 0),
                       "cuOccupancyMaxActiveBlocksPerMultiprocessor(mneme_compare, {})", kThreads));
    kernels->compare_blocks = multiprocessors_ * static_cast<uint32_t>(std::max(blocks, 1));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  kernels_ = std::move(kernels);
  return kernels_.get();
}

}  // namespace mneme::cuda
