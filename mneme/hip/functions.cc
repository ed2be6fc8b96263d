// What can be asked and set about a kernel; occupancy.
#include <algorithm>

#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/shared_memory.h"

namespace mneme::hip {
namespace {

hipError_t get_attribute(Table& table, int* value, hipFunction_attribute attribute, hipFunction_t function) {
  if (!value) return hipErrorInvalidValue;
  cudaFuncAttributes all{};
  if (cudaError_t code = MNEME_CUDA(table, cudaFuncGetAttributes)(&all, function); code != cudaSuccess) return to_hip(code);
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return *value = all.maxThreadsPerBlock, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return *value = static_cast<int>(all.sharedSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return *value = static_cast<int>(all.constSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return *value = static_cast<int>(all.localSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: return *value = all.numRegs, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION: return *value = all.ptxVersion, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: return *value = all.binaryVersion, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: return *value = all.cacheModeCA, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return *value = kLdsBytes - static_cast<int>(all.sharedSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return *value = all.preferredShmemCarveout, hipSuccess;
    default: return hipErrorInvalidValue;
  }
}

hipError_t active_blocks(Table& table, int* blocks, const void* function, int threads, size_t shared) {
  return to_hip(MNEME_CUDA(table, cudaOccupancyMaxActiveBlocksPerMultiprocessor)(blocks, function, threads, shared));
}
hipError_t active_blocks_with_flags(Table& table, int* blocks, const void* function, int threads, size_t shared, unsigned flags) {
  return to_hip(
      MNEME_CUDA(table, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, function, threads, shared, flags));
}
hipError_t active_blocks_of_module(Table& table, int* blocks, hipFunction_t function, int threads, size_t shared) {
  return active_blocks(table, blocks, function, threads, shared);
}
hipError_t active_blocks_of_module_with_flags(Table& table, int* blocks, hipFunction_t function, int threads, size_t shared,
                                              unsigned flags) {
  return active_blocks_with_flags(table, blocks, function, threads, shared, flags);
}

// The block, in steps of a wavefront, with which most threads of a multiprocessor are busy; of several the largest. CUDA's
// runtime leaves this to its header.
hipError_t potential_block_size(Table& table, int* grid, int* block, const void* function, size_t shared, int limit) {
  if (!grid || !block) return hipErrorInvalidValue;
  const int wavefront = wavefront_of(program_architecture());
  int device = 0, multiprocessors = 0;
  cudaFuncAttributes attributes{};
  cudaError_t code = MNEME_CUDA(table, cudaGetDevice)(&device);
  const auto ask = [&](int* value, cudaDeviceAttr attribute) {
    if (code == cudaSuccess) code = MNEME_CUDA(table, cudaDeviceGetAttribute)(value, attribute, device);
  };
  ask(&multiprocessors, cudaDevAttrMultiProcessorCount);
  if (code == cudaSuccess) code = MNEME_CUDA(table, cudaFuncGetAttributes)(&attributes, function);
  if (code != cudaSuccess) return to_hip(code);
  const int most = limit > 0 ? std::min(limit, attributes.maxThreadsPerBlock) : attributes.maxThreadsPerBlock;
  int best_threads = 0;
  for (int threads = (most + wavefront - 1) / wavefront * wavefront; threads > 0; threads -= wavefront) {
    const int tried = std::min(threads, most);
    int blocks = 0;
    code = MNEME_CUDA(table, cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function, tried, shared);
    if (code != cudaSuccess) return to_hip(code);
    if (blocks * tried <= best_threads) continue;
    best_threads = blocks * tried;
    *block = tried;
    *grid = blocks * multiprocessors;
  }
  return best_threads == 0 ? hipErrorInvalidValue : hipSuccess;
}
hipError_t potential_block_size_of_module(Table& table, int* grid, int* block, hipFunction_t function, size_t shared, int limit) {
  return potential_block_size(table, grid, block, function, shared, limit);
}
hipError_t potential_block_size_of_module_with_flags(Table& table, int* grid, int* block, hipFunction_t function, size_t shared,
                                                     int limit, unsigned) {
  return potential_block_size(table, grid, block, function, shared, limit);
}

const char* name_of(Table& table, const void* function) {
  const char* name = nullptr;
  if (MNEME_CUDA(table, cudaFuncGetName)(&name, function) == cudaSuccess) return name;
  if (!table.ends_in_runtime()) (void)MNEME_CUDA(table, cudaGetLastError)();
  return nullptr;
}
const char* name_of_function(Table& table, hipFunction_t function) { return name_of(table, function); }
const char* name_of_host_function(Table& table, const void* function, hipStream_t) { return name_of(table, function); }

cudaError_t end_of_get_name(Table&, const char** name, const void* function) {
  const auto kernel = program_code().find_kernel(function);
  if (!name || !kernel) return name ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
  *name = kernel->name.c_str();
  return cudaSuccess;
}

// HIP does not tell where a kernel's parameters lie: what the kernel carries for recording does.
cudaError_t end_of_get_parameter(Table&, const void* function, size_t index, size_t* offset, size_t* size) {
  const auto kernel = program_code().find_kernel(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  const auto segment = kernel->segment();
  if (!segment.ok()) return cudaErrorNotSupported;
  if (index >= (*segment)->parameters.size()) return cudaErrorInvalidValue;
  const SegmentParameter& parameter = (*segment)->parameters[index];
  if (offset) *offset = parameter.offset;
  if (size) *size = parameter.size;
  return cudaSuccess;
}

using Rows =
    HookList<MNEME_ROW(hipFuncGetAttributes, cudaFuncGetAttributes), MNEME_OWN(hipFuncGetAttribute, get_attribute),
             MNEME_ROW(hipFuncSetAttribute, cudaFuncSetAttribute), MNEME_ROW(hipFuncSetCacheConfig, cudaFuncSetCacheConfig),
             MNEME_ROW(hipFuncSetSharedMemConfig, cudaFuncSetSharedMemConfig),
             MNEME_EMULATED(hipOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks),
             MNEME_EMULATED(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, active_blocks_with_flags),
             MNEME_OWN(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks_of_module),
             MNEME_OWN(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, active_blocks_of_module_with_flags),
             MNEME_EMULATED(hipOccupancyMaxPotentialBlockSize, potential_block_size),
             MNEME_OWN(hipModuleOccupancyMaxPotentialBlockSize, potential_block_size_of_module),
             MNEME_OWN(hipModuleOccupancyMaxPotentialBlockSizeWithFlags, potential_block_size_of_module_with_flags),
             Hook<MNEME_CALL_hipKernelNameRef, &name_of_function>,
             MNEME_EMULATED_AS_IS(hipKernelNameRefByPtr, name_of_host_function)>;

using ActiveBlocks = hipError_t (*)(int*, const void*, int, size_t);
using ActiveBlocksWithFlags = hipError_t (*)(int*, const void*, int, size_t, unsigned);
using Ends =
    HookList<MNEME_END(hipOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor, ActiveBlocks),
             MNEME_END(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                       cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, ActiveBlocksWithFlags),
             MNEME_WRITTEN_END(hipFuncGetAttributes, cudaFuncGetName, end_of_get_name),
             MNEME_WRITTEN_END(hipFuncGetAttributes, cudaFuncGetParamInfo, end_of_get_parameter)>;

}  // namespace

void install_functions(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
