// The kernels of memory_kernels.cu and element_kernels.cu, loaded on first use and shared by a device's streams.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "mneme/base/element.h"
#include "mneme/device/device.h"
#include "mneme/device/gpu/gpu_module.h"

namespace mneme::gpu {

// The two sources, which the build compiles by themselves.
enum class KernelSource { memory, elements };

// Loads at least the kernels `names` of a source, as the vendor's code.
using LoadKernels = std::function<Result<std::unique_ptr<GpuModule>>(const Context& context, KernelSource source,
                                                                     std::initializer_list<std::string_view> names)>;

struct MemoryKernels {
  std::unique_ptr<GpuModule> module;
  FunctionHandle compare = nullptr;
  FunctionHandle hash_pages = nullptr;
  FunctionHandle copy_listed = nullptr;
  uint32_t compare_blocks = 1;  // how many blocks of `compare` the device runs at once
};

// A kernel in a module of its own.
struct LoneKernel {
  std::unique_ptr<GpuModule> module;
  FunctionHandle function = nullptr;
  std::string name;
  uint32_t blocks = 1;  // how many blocks of it the device runs at once
};

// Loads each kernel when it is first asked for, and keeps it. What is returned lives as long as this object. Thread-safe.
class LazyMemoryKernels {
 public:
  static constexpr uint32_t kThreads = 256;  // threads of a block; another number would give pages other hashes

  LazyMemoryKernels(const Context& context, uint32_t multiprocessors, LoadKernels load)
      : context_(context), multiprocessors_(multiprocessors), load_(std::move(load)) {}
  Result<const MemoryKernels*> get();
  Result<const LoneKernel*> elements(ElementType type);
  Result<const LoneKernel*> byte_set(ByteSetStep step);
  Result<const LoneKernel*> find_pointers();

 private:
  Result<uint32_t> blocks_at_once(FunctionHandle function, const std::string& name) const;
  Result<const LoneKernel*> lone(KernelSource source, const std::string& name);

  const Context& context_;
  uint32_t multiprocessors_;
  LoadKernels load_;
  std::mutex mutex_;
  std::unique_ptr<MemoryKernels> kernels_;
  std::map<std::string, LoneKernel> lone_;
};

}  // namespace mneme::gpu
