// The kernels of memory_kernels.cu and element_kernels.cu, loaded on first use and shared by a device's streams.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "mneme/base/element.h"
#include "mneme/device/cuda/cuda_module.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

// PTX, with its terminator behind the view. Made at build time.
std::string_view memory_kernels_ptx();
std::string_view element_kernels_ptx();
// The PTX of some kernels of `ptx`, which share nothing but the lines before the first: the driver compiles only these.
std::string ptx_of_kernels(std::string_view ptx, std::initializer_list<std::string_view> names);

struct MemoryKernels {
  std::unique_ptr<CudaModule> module;
  CUfunction compare = nullptr;
  CUfunction hash_pages = nullptr;
  CUfunction copy_listed = nullptr;
  uint32_t compare_blocks = 1;  // as many as run at once
};

// One that is loaded alone.
struct LoneKernel {
  std::unique_ptr<CudaModule> module;
  CUfunction function = nullptr;
  std::string name;
  uint32_t blocks = 1;  // as many as run at once
};

// Thread-safe.
class LazyMemoryKernels {
 public:
  static constexpr uint32_t kThreads = 256;  // a block; part of the definition of a page's hash

  LazyMemoryKernels(const Context& context, uint32_t multiprocessors) : context_(context), multiprocessors_(multiprocessors) {}
  Result<const MemoryKernels*> get();
  Result<const LoneKernel*> elements(ElementType type);
  Result<const LoneKernel*> byte_set(ByteSetStep step);

 private:
  Result<uint32_t> blocks_at_once(CUfunction function, const std::string& name) const;
  Result<const LoneKernel*> lone(std::string_view ptx, const std::string& name);

  const Context& context_;
  uint32_t multiprocessors_;
  std::mutex mutex_;
  std::unique_ptr<MemoryKernels> kernels_;
  std::map<std::string, LoneKernel> lone_;
};

}  // namespace mneme::cuda
