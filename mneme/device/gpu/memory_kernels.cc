#include "mneme/device/gpu/memory_kernels.h"

#include <algorithm>

namespace mneme::gpu {

Result<uint32_t> LazyMemoryKernels::blocks_at_once(FunctionHandle function, const std::string& name) const {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  int blocks = 1;
  MNEME_TRY(context_.check_call(context_.api().occupancy(&blocks, function, kThreads, 0), context_.words().occupancy, "({}, {})",
                                name, kThreads));
  return multiprocessors_ * static_cast<uint32_t>(std::max(blocks, 1));
}

Result<const MemoryKernels*> LazyMemoryKernels::get() {
  std::lock_guard lock(mutex_);
  if (kernels_ != nullptr) return kernels_.get();
  auto kernels = std::make_unique<MemoryKernels>();
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernels->module,
                 load_(context_, KernelSource::memory, {"mneme_compare", "mneme_hash_pages", "mneme_copy_listed"}));
    MNEME_ASSIGN(GpuKernel * compare, kernels->module->gpu_kernel("mneme_compare"));
    MNEME_ASSIGN(GpuKernel * hash_pages, kernels->module->gpu_kernel("mneme_hash_pages"));
    MNEME_ASSIGN(GpuKernel * copy_listed, kernels->module->gpu_kernel("mneme_copy_listed"));
    kernels->copy_listed = copy_listed->function();
    kernels->compare = compare->function();
    kernels->hash_pages = hash_pages->function();
    MNEME_ASSIGN(kernels->compare_blocks, blocks_at_once(kernels->compare, "mneme_compare"));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  kernels_ = std::move(kernels);
  return kernels_.get();
}

Result<const LoneKernel*> LazyMemoryKernels::elements(ElementType type) {
  return lone(KernelSource::elements, fmt::format("mneme_elements_{}", to_string(type)));
}

Result<const LoneKernel*> LazyMemoryKernels::byte_set(ByteSetStep step) {
  switch (step) {
    case ByteSetStep::select: return lone(KernelSource::memory, "mneme_select_bytes");
    case ByteSetStep::drop_wrong: return lone(KernelSource::memory, "mneme_drop_wrong_bytes");
    case ByteSetStep::complement: break;
  }
  return lone(KernelSource::memory, "mneme_complement_bytes");
}

Result<const LoneKernel*> LazyMemoryKernels::find_pointers() { return lone(KernelSource::memory, "mneme_find_pointers"); }

Result<const LoneKernel*> LazyMemoryKernels::lone(KernelSource source, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (auto loaded = lone_.find(name); loaded != lone_.end()) return &loaded->second;
  LoneKernel kernel;
  kernel.name = name;
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernel.module, load_(context_, source, {name}));
    MNEME_ASSIGN(GpuKernel * found, kernel.module->gpu_kernel(name));
    kernel.function = found->function();
    MNEME_ASSIGN(kernel.blocks, blocks_at_once(kernel.function, name));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  return &lone_.emplace(name, std::move(kernel)).first->second;
}

}  // namespace mneme::gpu
