// Launches.
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::emulation {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<CallConfiguration> configurations;

unsigned push_call_configuration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t pop_call_configuration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return finish(cudaErrorMissingConfiguration);
  CallConfiguration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream,
                   bool cooperative) {
  KernelLaunch launch;
  if (cudaError_t result = prepare_launch(function, grid, block, arguments, shared_bytes, cooperative, launch);
      result != cudaSuccess)
    return result;
  return submit(stream, std::move(launch));
}

cudaError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                          cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream, false);
}
cudaError_t launch_cooperative(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream, true);
}
// A kernel's handle is the host function itself.
cudaError_t launch_handle(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                          cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream, false);
}

cudaError_t launch_ex(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config) return cudaErrorInvalidValue;
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& cluster = attribute.val.clusterDim;
      if (cluster.x * cluster.y * cluster.z > 1) {
        static std::once_flag said;
        std::call_once(said, [] { log::warning("launches with clusters of blocks are not available on the CPU device"); });
        return cudaErrorNotSupported;
      }
    }
  }
  return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream, cooperative);
}

cudaError_t get_kernel(cudaKernel_t* kernel, const void* function) {
  if (!kernel) return cudaErrorInvalidValue;
  if (!Context::get().registry().find_kernel(function)) return cudaErrorInvalidDeviceFunction;
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t get_function_by_symbol(cudaFunction_t* handle, const void* function) {
  if (!handle) return cudaErrorInvalidValue;
  if (!Context::get().registry().find_kernel(function)) return cudaErrorInvalidDeviceFunction;
  *handle = reinterpret_cast<cudaFunction_t>(const_cast<void*>(function));
  return cudaSuccess;
}

// What launches have found, so that a launch costs one lookup.
class ResolvedKernels {
 public:
  static ResolvedKernels& get() {
    static ResolvedKernels* kernels = new ResolvedKernels;
    return *kernels;
  }
  bool find(const void* function, ResolvedKernel& out) const {
    std::shared_lock lock(mutex_);
    auto found = kernels_.find(function);
    if (found == kernels_.end()) return false;
    out = found->second;
    return true;
  }
  void add(const void* function, const ResolvedKernel& kernel) {
    std::unique_lock lock(mutex_);
    kernels_[function] = kernel;
  }
  void clear() {
    std::unique_lock lock(mutex_);
    kernels_.clear();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, ResolvedKernel> kernels_;
};

Dim3 to_dim3(dim3 d) { return {d.x, d.y, d.z}; }

cudaError_t check_shape(const void* function, const KernelResources& resources, const LaunchShape& shape, size_t shared_bytes) {
  const DeviceProperties& limits = Context::get().device().properties();
  auto too_large = [](const Dim3& value, const Dim3& limit) {
    return value.x > limit.x || value.y > limit.y || value.z > limit.z;
  };
  if (shape.grid.volume() == 0 || shape.block.volume() == 0) return cudaErrorInvalidConfiguration;
  if (too_large(shape.grid, limits.max_grid) || too_large(shape.block, limits.max_block) ||
      shape.block.volume() > limits.max_threads_per_block)
    return cudaErrorInvalidConfiguration;
  if (resources.max_threads_per_block && shape.block.volume() > *resources.max_threads_per_block)
    return cudaErrorLaunchOutOfResources;
  if (shared_bytes > kDefaultSharedBytes &&
      shared_bytes > static_cast<size_t>(Context::get().function_settings(function).max_dynamic_shared_bytes))
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace

cudaError_t resolve_kernel(const void* function, ResolvedKernel& out) {
  if (ResolvedKernels::get().find(function, out)) return cudaSuccess;
  Context& context = Context::get();
  auto registered = context.registry().find_kernel(function);
  if (!registered) {
    auto loaded = find_library_kernel(function);
    if (!loaded) return cudaErrorInvalidDeviceFunction;
    out = *loaded;
    return cudaSuccess;
  }
  Result<std::shared_ptr<LoadedImage>> image = context.images().find(*registered->image);
  if (!image.ok()) return to_cuda(image.status());  // said when it was loaded
  Result<Kernel*> kernel = (*image)->kernel(*registered);
  if (!kernel.ok()) {
    (*image)->say_once(registered->name, kernel.status());
    return to_cuda(kernel.status());
  }
  out = {*image, *kernel};
  ResolvedKernels::get().add(function, out);
  return cudaSuccess;
}

bool names_kernel(const void* function) {
  return Context::get().registry().find_kernel(function) != nullptr || find_library_kernel(function).has_value();
}

void forget_resolved_kernels() { ResolvedKernels::get().clear(); }

cudaError_t prepare_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, bool cooperative,
                           KernelLaunch& out) {
  ResolvedKernel resolved;
  if (cudaError_t result = resolve_kernel(function, resolved); result != cudaSuccess) return result;
  out.function = function;
  out.image = resolved.image;
  out.kernel = resolved.kernel;
  out.shape = {to_dim3(grid), to_dim3(block), Bytes(shared_bytes), cooperative};
  if (cudaError_t result = check_shape(function, resolved.kernel->resources(), out.shape, shared_bytes); result != cudaSuccess)
    return result;
  out.parameters.resize(cpu::packed_bytes(*resolved.kernel).count);
  const auto parameters = cpu::parameters_of(*resolved.kernel);
  if (!parameters.empty() && !arguments) return cudaErrorInvalidValue;
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::memcpy(out.parameters.data() + parameters[i].offset, arguments[i], parameters[i].size);
    out.parameter_offsets.push_back(parameters[i].offset);
  }
  return cudaSuccess;
}

void fill_launch(Slots& slots) {
  slots.set_raw(MNEME_CALL___cudaPushCallConfiguration, &push_call_configuration);
  slots.set_raw(MNEME_CALL___cudaPopCallConfiguration, &pop_call_configuration);
  MNEME_EMULATE_PTSZ(cudaLaunchKernel, launch_kernel);
  MNEME_EMULATE_PTSZ(cudaLaunchCooperativeKernel, launch_cooperative);
  MNEME_EMULATE_PTSZ(cudaLaunchKernelExC, launch_ex);
  slots.set<&launch_handle>(MNEME_CALL___cudaLaunchKernel);
  slots.set<&launch_handle>(MNEME_CALL___cudaLaunchKernel_ptsz);
  slots.set<&get_kernel>(MNEME_CALL___cudaGetKernel);
  MNEME_EMULATE(cudaGetKernel, get_kernel);
  MNEME_EMULATE(cudaGetFuncBySymbol, get_function_by_symbol);
}

}  // namespace mneme::emulation
