// What can be asked and set about a kernel; occupancy.
#include <algorithm>

#include "mneme/cpu/cuda_runtime/operation.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

size_t or_zero(const std::optional<Bytes>& bytes) { return bytes ? bytes->count : 0; }

int max_threads(const Kernel& kernel) {
  return static_cast<int>(
      kernel.resources().max_threads_per_block.value_or(Context::get().device().properties().max_threads_per_block));
}

cudaError_t get_attributes(cudaFuncAttributes* attributes, const void* function) {
  if (!attributes) return cudaErrorInvalidValue;
  ResolvedKernel resolved;
  if (cudaError_t result = resolve_kernel(function, resolved); result != cudaSuccess) return result;
  const KernelResources& resources = resolved.kernel->resources();
  FunctionSettings settings = Context::get().function_settings(function);
  *attributes = {};
  attributes->sharedSizeBytes = or_zero(resources.static_shared_memory);
  attributes->constSizeBytes = or_zero(resources.constant_memory);
  attributes->localSizeBytes = or_zero(resources.local_memory);
  attributes->maxThreadsPerBlock = max_threads(*resolved.kernel);
  attributes->numRegs = static_cast<int>(resources.registers.value_or(32));
  attributes->ptxVersion = attributes->binaryVersion = static_cast<int>(Context::get().architecture());
  attributes->maxDynamicSharedSizeBytes = settings.max_dynamic_shared_bytes;
  attributes->preferredShmemCarveout = settings.preferred_carveout;
  return cudaSuccess;
}

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (!names_kernel(function)) return cudaErrorInvalidDeviceFunction;
  FunctionSettings settings = Context::get().function_settings(function);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<uint64_t>(value) > Context::get().device().properties().max_shared_memory_per_block.count)
      return cudaErrorInvalidValue;
    settings.max_dynamic_shared_bytes = value;
  } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    if (value < -1 || value > 100) return cudaErrorInvalidValue;
    settings.preferred_carveout = value;
  } else if (attribute != cudaFuncAttributeNonPortableClusterSizeAllowed) {
    return cudaErrorInvalidValue;
  }
  Context::get().set_function_settings(function, settings);
  return cudaSuccess;
}

cudaError_t set_kernel_attribute(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return device == 0 ? set_attribute(kernel, attribute, value) : cudaErrorInvalidDevice;
}

cudaError_t set_cache_config(const void* function, cudaFuncCache) {
  return Context::get().registry().find_kernel(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t set_shared_config(const void* function, cudaSharedMemConfig) {
  return Context::get().registry().find_kernel(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t get_name(const char** name, const void* function) {
  if (!name) return cudaErrorInvalidValue;
  auto kernel = Context::get().registry().find_kernel(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  *name = kernel->name.c_str();  // lives as long as the program's registration
  return cudaSuccess;
}

cudaError_t get_parameter_info(const void* function, size_t index, size_t* offset, size_t* size) {
  auto kernel = Context::get().registry().find_kernel(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  Result<const EmbeddedSegment*> segment = kernel->segment();
  if (!segment.ok()) return to_cuda(segment.status());
  if (!offset || index >= (*segment)->parameters.size()) return cudaErrorInvalidValue;
  *offset = (*segment)->parameters[index].offset;
  if (size) *size = (*segment)->parameters[index].size;
  return cudaSuccess;
}

// As many blocks as threads and shared memory of a multiprocessor of the architecture allow. The CPU has no such limit; the
// numbers keep programs that compute their grid from them sensible.
cudaError_t active_blocks(int* blocks, const void* function, int block_threads, size_t dynamic_shared_bytes, unsigned) {
  if (!blocks || block_threads <= 0) return cudaErrorInvalidValue;
  ResolvedKernel resolved;
  if (cudaError_t result = resolve_kernel(function, resolved); result != cudaSuccess) return result;
  size_t shared = dynamic_shared_bytes + or_zero(resolved.kernel->resources().static_shared_memory);
  size_t available = Context::get().device().properties().max_shared_memory_per_block.count;
  *blocks = 0;
  if (block_threads > max_threads(*resolved.kernel) || shared > available) return cudaSuccess;
  *blocks = std::min(kMaxThreadsPerMultiprocessor / block_threads, kMaxBlocksPerMultiprocessor);
  if (shared != 0) *blocks = static_cast<int>(std::min<size_t>(*blocks, available / shared));
  return cudaSuccess;
}
cudaError_t active_blocks_default(int* blocks, const void* function, int block_threads, size_t dynamic_shared_bytes) {
  return active_blocks(blocks, function, block_threads, dynamic_shared_bytes, cudaOccupancyDefault);
}

cudaError_t available_shared(size_t* bytes, const void* function, int blocks, int) {
  if (!bytes || blocks <= 0) return cudaErrorInvalidValue;
  if (!Context::get().registry().find_kernel(function)) return cudaErrorInvalidDeviceFunction;
  *bytes = std::min(kDefaultSharedBytes, Context::get().device().properties().max_shared_memory_per_block.count / blocks);
  return cudaSuccess;
}

}  // namespace

void fill_functions(Slots& slots) {
  MNEME_EMULATE(cudaFuncGetAttributes, get_attributes);
  MNEME_EMULATE(cudaFuncSetAttribute, set_attribute);
  MNEME_EMULATE(cudaKernelSetAttributeForDevice, set_kernel_attribute);
  MNEME_EMULATE(cudaFuncSetCacheConfig, set_cache_config);
  MNEME_EMULATE(cudaFuncSetSharedMemConfig, set_shared_config);
  MNEME_EMULATE(cudaFuncGetName, get_name);
  MNEME_EMULATE(cudaFuncGetParamInfo, get_parameter_info);
  MNEME_EMULATE(cudaOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks_default);
  MNEME_EMULATE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, active_blocks);
  MNEME_EMULATE(cudaOccupancyAvailableDynamicSMemPerBlock, available_shared);
}

}  // namespace mneme::emulation
