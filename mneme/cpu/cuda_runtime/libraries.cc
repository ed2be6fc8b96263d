// Libraries: code that the program loads itself, which here is an image of the CPU device.
#include <map>
#include <mutex>
#include <shared_mutex>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/operation.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

// The library's handle is the address of its module, a kernel's the address of the kernel.
class Libraries {
 public:
  static Libraries& get() {
    static auto* libraries = new Libraries;
    return *libraries;
  }

  const Module* add(std::unique_ptr<Module> module) {
    std::unique_lock lock(mutex_);
    const Module* handle = module.get();
    modules_[handle] = std::move(module);
    return handle;
  }

  bool remove(const void* handle) {
    std::unique_lock lock(mutex_);
    auto found = modules_.find(handle);
    if (found == modules_.end()) return false;
    std::erase_if(kernels_, [&](const auto& kernel) { return kernel.second.image == found->second; });
    modules_.erase(found);
    return true;
  }

  cudaError_t find_kernel(const void* library, const char* name, const Kernel*& out) {
    std::unique_lock lock(mutex_);
    auto found = modules_.find(library);
    if (found == modules_.end()) return cudaErrorInvalidResourceHandle;
    auto kernel = found->second->kernel(name);
    if (!kernel.ok()) return cudaErrorSymbolNotFound;
    out = *kernel;
    kernels_[out] = {found->second, *kernel};
    return cudaSuccess;
  }

  cudaError_t find_global(const void* library, const char* name, MemoryRange& out) {
    std::unique_lock lock(mutex_);
    auto found = modules_.find(library);
    if (found == modules_.end()) return cudaErrorInvalidResourceHandle;
    auto global = found->second->global(name);
    if (!global.ok()) return cudaErrorSymbolNotFound;
    out = *global;
    return cudaSuccess;
  }

  std::optional<ResolvedKernel> find(const void* kernel) const {
    std::shared_lock lock(mutex_);
    auto found = kernels_.find(kernel);
    return found == kernels_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<const void*, std::shared_ptr<Module>> modules_;
  std::map<const void*, ResolvedKernel> kernels_;
};

cudaError_t load_data(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned, cudaLibraryOption*, void**,
                      unsigned) {
  if (!library || !code) return cudaErrorInvalidValue;
  auto bytes = image_at(code);
  if (!bytes.ok()) return cudaErrorInvalidKernelImage;
  auto module = Context::get().device().load({DeviceKind::cpu, ByteVector(bytes->begin(), bytes->end()), {}});
  if (!module.ok()) {
    log::debug("a library is not loaded: {}", module.status().message());
    return cudaErrorInvalidKernelImage;
  }
  *library = reinterpret_cast<cudaLibrary_t>(const_cast<Module*>(Libraries::get().add(std::move(*module))));
  return cudaSuccess;
}

cudaError_t unload(cudaLibrary_t library) {
  return Libraries::get().remove(library) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t get_library_kernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (!kernel || !name) return cudaErrorInvalidValue;
  const Kernel* found = nullptr;
  const cudaError_t result = Libraries::get().find_kernel(library, name, found);
  if (result == cudaSuccess) *kernel = reinterpret_cast<cudaKernel_t>(const_cast<Kernel*>(found));
  return result;
}

cudaError_t get_library_global(void** address, size_t* size, cudaLibrary_t library, const char* name) {
  if (!name) return cudaErrorInvalidValue;
  MemoryRange global;
  const cudaError_t result = Libraries::get().find_global(library, name, global);
  if (result != cudaSuccess) return result;
  if (address) *address = reinterpret_cast<void*>(global.address.address);
  if (size) *size = global.size.count;
  return cudaSuccess;
}

}  // namespace

std::optional<ResolvedKernel> find_library_kernel(const void* handle) { return Libraries::get().find(handle); }

void fill_libraries(Slots& slots) {
  MNEME_EMULATE(cudaLibraryLoadData, load_data);
  MNEME_EMULATE(cudaLibraryUnload, unload);
  MNEME_EMULATE(cudaLibraryGetKernel, get_library_kernel);
  MNEME_EMULATE(cudaLibraryGetGlobal, get_library_global);
}

}  // namespace mneme::emulation
