#include "mneme/device/cuda/memory_kernels.h"

#include <algorithm>

namespace mneme::cuda {
namespace {

// `ptx` has its terminator behind it.
Result<std::unique_ptr<CudaModule>> load_ptx(const Context& context, std::string_view ptx) {
  auto text = std::as_bytes(std::span(ptx.data(), ptx.size() + 1));
  return CudaModule::load(context, {DeviceKind::cuda, ByteVector(text.begin(), text.end())});
}

}  // namespace

std::string ptx_of_kernel(std::string_view ptx, const std::string& name) {
  constexpr std::string_view kEntry = ".visible .entry ";
  std::string_view before = ptx.substr(0, ptx.find(kEntry));
  size_t begin = ptx.find(fmt::format("{}{}(", kEntry, name));
  if (begin == std::string_view::npos) return std::string(before);
  return fmt::format("{}\n{}", before, ptx.substr(begin, ptx.find(kEntry, begin + 1) - begin));
}

Result<uint32_t> LazyMemoryKernels::blocks_at_once(CUfunction function, const std::string& name) const {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  int blocks = 1;
  MNEME_TRY(context_.check(context_.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, kThreads, 0),
                           "cuOccupancyMaxActiveBlocksPerMultiprocessor({}, {})", name, kThreads));
  return multiprocessors_ * static_cast<uint32_t>(std::max(blocks, 1));
}

Result<const MemoryKernels*> LazyMemoryKernels::get() {
  std::lock_guard lock(mutex_);
  if (kernels_ != nullptr) return kernels_.get();
  auto kernels = std::make_unique<MemoryKernels>();
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernels->module, load_ptx(context_, memory_kernels_ptx()));
    MNEME_ASSIGN(Kernel * compare, kernels->module->kernel("mneme_compare"));
    MNEME_ASSIGN(Kernel * hash_pages, kernels->module->kernel("mneme_hash_pages"));
    MNEME_ASSIGN(Kernel * copy_listed, kernels->module->kernel("mneme_copy_listed"));
    kernels->copy_listed = static_cast<CudaKernel*>(copy_listed)->function();
    kernels->compare = static_cast<CudaKernel*>(compare)->function();
    kernels->hash_pages = static_cast<CudaKernel*>(hash_pages)->function();
    MNEME_ASSIGN(kernels->compare_blocks, blocks_at_once(kernels->compare, "mneme_compare"));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  kernels_ = std::move(kernels);
  return kernels_.get();
}

Result<const ElementKernel*> LazyMemoryKernels::elements(ElementType type) {
  std::lock_guard lock(mutex_);
  if (auto loaded = elements_.find(type); loaded != elements_.end()) return &loaded->second;
  ElementKernel kernel;
  kernel.name = fmt::format("mneme_elements_{}", to_string(type));
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernel.module, load_ptx(context_, ptx_of_kernel(element_kernels_ptx(), kernel.name)));
    MNEME_ASSIGN(Kernel * found, kernel.module->kernel(kernel.name));
    kernel.function = static_cast<CudaKernel*>(found)->function();
    MNEME_ASSIGN(kernel.blocks, blocks_at_once(kernel.function, kernel.name));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  return &elements_.emplace(type, std::move(kernel)).first->second;
}

}  // namespace mneme::cuda
