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

// The kernels as PTX, which the build makes. A zero byte follows the view, as the driver wants it.
std::string_view memory_kernels_ptx();
std::string_view element_kernels_ptx();
// Cuts the kernels `names` out of `ptx`, so that the driver compiles only them. Kernels of `ptx` share nothing but the lines
// before the first one. A name that `ptx` lacks is left out.
std::string ptx_of_kernels(std::string_view ptx, std::initializer_list<std::string_view> names);

struct MemoryKernels {
  std::unique_ptr<CudaModule> module;
  CUfunction compare = nullptr;
  CUfunction hash_pages = nullptr;
  CUfunction copy_listed = nullptr;
  uint32_t compare_blocks = 1;  // how many blocks of `compare` the device runs at once
};

// A kernel in a module of its own.
struct LoneKernel {
  std::unique_ptr<CudaModule> module;
  CUfunction function = nullptr;
  std::string name;
  uint32_t blocks = 1;  // how many blocks of it the device runs at once
};

// Loads each kernel when it is first asked for, and keeps it. What is returned lives as long as this object. Thread-safe.
class LazyMemoryKernels {
 public:
  static constexpr uint32_t kThreads = 256;  // threads of a block; another number would give pages other hashes

  LazyMemoryKernels(const Context& context, uint32_t multiprocessors) : context_(context), multiprocessors_(multiprocessors) {}
  Result<const MemoryKernels*> get();
  Result<const LoneKernel*> elements(ElementType type);
  Result<const LoneKernel*> byte_set(ByteSetStep step);
  Result<const LoneKernel*> find_pointers();

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
