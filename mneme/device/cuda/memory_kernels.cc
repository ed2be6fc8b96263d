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

std::string ptx_of_kernels(std::string_view ptx, std::initializer_list<std::string_view> names) {
  constexpr std::string_view kEntry = ".visible .entry ";
  std::string chosen(ptx.substr(0, ptx.find(kEntry)));
  for (std::string_view name : names) {
    const size_t begin = ptx.find(fmt::format("{}{}(", kEntry, name));
    if (begin == std::string_view::npos) continue;
    chosen += '\n';
    chosen += ptx.substr(begin, ptx.find(kEntry, begin + 1) - begin);
  }
  return chosen;
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
    MNEME_ASSIGN(kernels->module, load_ptx(context_, ptx_of_kernels(memory_kernels_ptx(),
                                                                    {"mneme_compare", "mneme_hash_pages", "mneme_copy_listed"})));
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

Result<const LoneKernel*> LazyMemoryKernels::elements(ElementType type) {
  return lone(element_kernels_ptx(), fmt::format("mneme_elements_{}", to_string(type)));
}

Result<const LoneKernel*> LazyMemoryKernels::byte_set(ByteSetStep step) {
  switch (step) {
    case ByteSetStep::select: return lone(memory_kernels_ptx(), "mneme_select_bytes");
    case ByteSetStep::drop_wrong: return lone(memory_kernels_ptx(), "mneme_drop_wrong_bytes");
    case ByteSetStep::complement: break;
  }
  return lone(memory_kernels_ptx(), "mneme_complement_bytes");
}

Result<const LoneKernel*> LazyMemoryKernels::find_pointers() { return lone(memory_kernels_ptx(), "mneme_find_pointers"); }

Result<const LoneKernel*> LazyMemoryKernels::lone(std::string_view ptx, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (auto loaded = lone_.find(name); loaded != lone_.end()) return &loaded->second;
  LoneKernel kernel;
  kernel.name = name;
  auto load = [&]() -> Status {
    MNEME_ASSIGN(kernel.module, load_ptx(context_, ptx_of_kernels(ptx, {name})));
    MNEME_ASSIGN(Kernel * found, kernel.module->kernel(name));
    kernel.function = static_cast<CudaKernel*>(found)->function();
    MNEME_ASSIGN(kernel.blocks, blocks_at_once(kernel.function, name));
    return {};
  };
  MNEME_TRY(load().with_context("loading Mneme's memory kernels"));
  return &lone_.emplace(name, std::move(kernel)).first->second;
}

}  // namespace mneme::cuda
