// The kernels of memory_kernels.cu, loaded on first use and shared by a device's streams.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "mneme/device/cuda/cuda_module.h"

namespace mneme::cuda {

// PTX, with its terminator behind the view. Made at build time.
std::string_view memory_kernels_ptx();

struct MemoryKernels {
  std::unique_ptr<CudaModule> module;
  CUfunction compare = nullptr;
  CUfunction hash_pages = nullptr;
  uint32_t compare_blocks = 1;  // as many as run at once
};

// Thread-safe.
class LazyMemoryKernels {
 public:
  static constexpr uint32_t kThreads = 256;  // a block; part of the definition of a page's hash

  LazyMemoryKernels(const Context& context, uint32_t multiprocessors) : context_(context), multiprocessors_(multiprocessors) {}
  Result<const MemoryKernels*> get();

 private:
  const Context& context_;
  uint32_t multiprocessors_;
  std::mutex mutex_;
  std::unique_ptr<MemoryKernels> kernels_;
};

}  // namespace mneme::cuda
