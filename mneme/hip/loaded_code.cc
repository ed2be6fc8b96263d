#include "mneme/hip/loaded_code.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_set>

#include "mneme/base/types.h"
#include "mneme/hip/rows.h"
#include "mneme/runtime/code_object.h"

namespace mneme::hip {
namespace {

// On devices beyond these nothing is loaded.
constexpr int kMostDevices = 64;

class Library;

struct Kernel {
  Kernel(Library& of, std::string called) : library(of), name(std::move(called)) {}
  Library& library;
  const std::string name;
  std::array<std::atomic<hipFunction_t>, kMostDevices> functions{};  // by device; null: not asked for there yet
};

hipError_t current_device(Table& table, size_t& device) {
  int ordinal = 0;
  const hipError_t result = MNEME_REAL(table, hipGetDevice)(&ordinal);
  if (result != hipSuccess) return result;
  if (ordinal < 0 || ordinal >= kMostDevices) return hipErrorInvalidDevice;
  device = static_cast<size_t>(ordinal);
  return hipSuccess;
}

class Library {
 public:
  Library(Table& table, ByteVector image) : table_(table), image_(std::move(image)) {}

  // The module on the current device.
  hipError_t find_module(hipModule_t& out) {
    std::lock_guard lock(mutex_);
    size_t device = 0;
    if (hipError_t result = current_device(table_, device); result != hipSuccess) return result;
    return module_on(device, out);
  }

  hipError_t find_kernel(const std::string& name, Kernel*& out) {
    {
      std::lock_guard lock(mutex_);
      auto& kernel = kernels_[name];
      if (!kernel) kernel = std::make_unique<Kernel>(*this, name);
      out = kernel.get();
    }
    hipFunction_t function = nullptr;
    return find_function(*out, function);
  }

  // Of a kernel of this library, on the current device.
  hipError_t find_function(Kernel& kernel, hipFunction_t& out) {
    size_t device = 0;
    if (hipError_t result = current_device(table_, device); result != hipSuccess) return result;
    std::atomic<hipFunction_t>& known = kernel.functions[device];
    if ((out = known.load(std::memory_order_acquire))) return hipSuccess;
    std::lock_guard lock(mutex_);
    hipModule_t module = nullptr;
    if (hipError_t result = module_on(device, module); result != hipSuccess) return result;
    const hipError_t result = MNEME_REAL(table_, hipModuleGetFunction)(&out, module, kernel.name.c_str());
    if (result == hipSuccess) known.store(out, std::memory_order_release);
    return result;
  }

  // The kernel that has this function on a device; null: none.
  Kernel* kernel_with(const void* function) {
    std::lock_guard lock(mutex_);
    for (const auto& [name, kernel] : kernels_)
      for (const auto& one : kernel->functions)
        if (one.load(std::memory_order_relaxed) == function) return kernel.get();
    return nullptr;
  }

  void unload_from(size_t device) {
    std::lock_guard lock(mutex_);
    for (const auto& [name, kernel] : kernels_) kernel->functions[device] = nullptr;
    if (hipModule_t module = std::exchange(modules_[device], nullptr)) (void)MNEME_REAL(table_, hipModuleUnload)(module);
  }

 private:
  hipError_t module_on(size_t device, hipModule_t& out) {
    if ((out = modules_[device])) return hipSuccess;
    const hipError_t result = MNEME_REAL(table_, hipModuleLoadData)(&out, image_.data());
    if (result == hipSuccess) modules_[device] = out;
    return result;
  }

  Table& table_;
  const ByteVector image_;
  std::mutex mutex_;
  std::array<hipModule_t, kMostDevices> modules_{};
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

// Never destroyed: programs launch from destructors and exit handlers.
struct Loaded {
  std::atomic<bool> any = false;
  std::shared_mutex mutex;
  std::map<const void*, std::unique_ptr<Library>> libraries;
  std::unordered_set<const void*> kernels;

  static Loaded& get() {
    static auto* all = new Loaded;
    return *all;
  }
  Library* find(cudaLibrary_t handle) {
    std::shared_lock lock(mutex);
    const auto found = libraries.find(handle);
    return found == libraries.end() ? nullptr : found->second.get();
  }
  // The kernel of that handle; null: it is another pointer.
  Kernel* find_kernel(const void* handle) {
    if (!any.load(std::memory_order_acquire)) return nullptr;
    std::shared_lock lock(mutex);
    return kernels.contains(handle) ? static_cast<Kernel*>(const_cast<void*>(handle)) : nullptr;
  }
};

hipError_t find_function(const void* handle, hipFunction_t& out) {
  Kernel* const kernel = Loaded::get().find_kernel(handle);
  return kernel ? kernel->library.find_function(*kernel, out) : hipErrorInvalidHandle;
}

// Of the program's own library, as hipModuleLaunchKernel is: the function came with ROCm 5.5, and has no row.
using LaunchCooperatively = hipError_t (*)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           hipStream_t, void**);
LaunchCooperatively cooperative_launch_of(Table& table) {
  Dl_info info;
  const auto known = reinterpret_cast<void*>(table.real(MNEME_CALL_hipModuleLaunchKernel));
  if (::dladdr(known, &info) == 0 || !info.dli_fname) return nullptr;
  void* const library = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library ? reinterpret_cast<LaunchCooperatively>(::dlsym(library, "hipModuleLaunchCooperativeKernel")) : nullptr;
}

cudaError_t load(Table& table, cudaLibrary_t* out, const void* image, cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                 void**, unsigned) {
  if (!out || !image) return cudaErrorInvalidValue;
  const auto bytes = code_object_at(image);
  if (!bytes.ok()) return cudaErrorInvalidKernelImage;
  auto library = std::make_unique<Library>(table, ByteVector(bytes->begin(), bytes->end()));
  hipModule_t module = nullptr;
  if (const hipError_t result = library->find_module(module); result != hipSuccess) return to_cuda(result);
  Loaded& all = Loaded::get();
  std::unique_lock lock(all.mutex);
  *out = reinterpret_cast<cudaLibrary_t>(library.get());
  all.libraries.emplace(library.get(), std::move(library));
  return cudaSuccess;
}

cudaError_t unload(Table&, cudaLibrary_t handle) {
  Loaded& all = Loaded::get();
  std::unique_lock lock(all.mutex);
  const auto found = all.libraries.find(handle);
  if (found == all.libraries.end()) return cudaErrorInvalidResourceHandle;
  std::erase_if(all.kernels,
                [&](const void* kernel) { return &static_cast<const Kernel*>(kernel)->library == found->second.get(); });
  for (size_t device = 0; device < kMostDevices; ++device) found->second->unload_from(device);
  all.libraries.erase(found);
  return cudaSuccess;
}

cudaError_t get_kernel(Table&, cudaKernel_t* out, cudaLibrary_t handle, const char* name) {
  if (!out || !name) return cudaErrorInvalidValue;
  Loaded& all = Loaded::get();
  Library* const library = all.find(handle);
  if (!library) return cudaErrorInvalidResourceHandle;
  Kernel* kernel = nullptr;
  if (const hipError_t result = library->find_kernel(name, kernel); result != hipSuccess) return to_cuda(result);
  std::unique_lock lock(all.mutex);
  all.kernels.insert(kernel);
  all.any.store(true, std::memory_order_release);
  *out = reinterpret_cast<cudaKernel_t>(kernel);
  return cudaSuccess;
}

cudaError_t get_global(Table& table, void** address, size_t* bytes, cudaLibrary_t handle, const char* name) {
  Library* const library = Loaded::get().find(handle);
  if (!library) return cudaErrorInvalidResourceHandle;
  hipModule_t module = nullptr;
  hipError_t result = library->find_module(module);
  hipDeviceptr_t found = nullptr;
  size_t size = 0;
  if (result == hipSuccess) result = MNEME_REAL(table, hipModuleGetGlobal)(&found, &size, module, name);
  if (result != hipSuccess) return to_cuda(result);
  if (address) *address = found;
  if (bytes) *bytes = size;
  return cudaSuccess;
}

// A kernel of HIP's needs no leave for its shared memory; clusters there are none.
cudaError_t set_attribute(Table&, cudaKernel_t, cudaFuncAttribute attribute, int, int) {
  return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ? cudaSuccess : cudaErrorNotSupported;
}

using Ends = HookList<MNEME_WRITTEN_END(hipModuleLoadData, cudaLibraryLoadData, load),
                      MNEME_WRITTEN_END(hipModuleUnload, cudaLibraryUnload, unload),
                      MNEME_WRITTEN_END(hipModuleGetFunction, cudaLibraryGetKernel, get_kernel),
                      MNEME_WRITTEN_END(hipModuleGetGlobal, cudaLibraryGetGlobal, get_global),
                      MNEME_WRITTEN_END(hipModuleLaunchKernel, cudaKernelSetAttributeForDevice, set_attribute)>;

}  // namespace

bool is_loaded_kernel(const void* pointer) { return Loaded::get().find_kernel(pointer) != nullptr; }

void* function_of_kernel(void* pointer) {
  if (!is_loaded_kernel(pointer)) return pointer;
  hipFunction_t function = nullptr;
  return find_function(pointer, function) == hipSuccess ? static_cast<void*>(function) : nullptr;
}

void* kernel_of_function(void* pointer) {
  Loaded& all = Loaded::get();
  if (!pointer || !all.any.load(std::memory_order_acquire)) return pointer;
  std::shared_lock lock(all.mutex);
  for (const auto& [handle, library] : all.libraries)
    if (Kernel* const kernel = library->kernel_with(pointer)) return kernel;
  return pointer;
}

cudaError_t launch_loaded(Table& table, const void* kernel, const LoadedLaunch& launch) {
  hipFunction_t function = nullptr;
  if (const hipError_t result = find_function(kernel, function); result != hipSuccess) return to_cuda(result);
  const auto& [grid, block, shared, stream, arguments] = launch;
  return to_cuda(MNEME_REAL(table, hipModuleLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                          static_cast<unsigned>(shared), stream, arguments, nullptr));
}

cudaError_t launch_loaded_cooperatively(Table& table, const void* kernel, const LoadedLaunch& launch) {
  const LaunchCooperatively launch_function = cooperative_launch_of(table);
  if (!launch_function) return cudaErrorNotSupported;
  hipFunction_t function = nullptr;
  if (const hipError_t result = find_function(kernel, function); result != hipSuccess) return to_cuda(result);
  const auto& [grid, block, shared, stream, arguments] = launch;
  return to_cuda(launch_function(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared),
                                 stream, arguments));
}

void unload_from_current_device(Table& table) {
  Loaded& all = Loaded::get();
  size_t device = 0;
  if (!all.any.load(std::memory_order_acquire) || current_device(table, device) != hipSuccess) return;
  std::shared_lock lock(all.mutex);
  for (const auto& [handle, library] : all.libraries) library->unload_from(device);
}

void install_loaded_code(const Table& table) { Ends::install(table); }

}  // namespace mneme::hip
