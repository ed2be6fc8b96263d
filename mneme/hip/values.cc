#include "mneme/hip/values.h"

#include "mneme/hip/loaded_code.h"

namespace mneme::hip {

cudaMemsetParams to_cuda(const hipMemsetParams& from) {
  return {.dst = from.dst,
          .pitch = from.pitch,
          .value = from.value,
          .elementSize = from.elementSize,
          .width = from.width,
          .height = from.height};
}
hipMemsetParams to_hip(const cudaMemsetParams& from) {
  return {.dst = from.dst,
          .elementSize = from.elementSize,
          .height = from.height,
          .pitch = from.pitch,
          .value = from.value,
          .width = from.width};
}

// The members have the same names, in another order. Loaded code has a handle of its own on each side.
template <typename To, typename From>
static To kernel_node(const From& from, void* function) {
  To to{};
  to.func = function;
  to.gridDim = {from.gridDim.x, from.gridDim.y, from.gridDim.z};
  to.blockDim = {from.blockDim.x, from.blockDim.y, from.blockDim.z};
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}
cudaKernelNodeParams to_cuda(const hipKernelNodeParams& from) {
  return kernel_node<cudaKernelNodeParams>(from, kernel_of_function(from.func));
}
hipKernelNodeParams to_hip(const cudaKernelNodeParams& from) {
  return kernel_node<hipKernelNodeParams>(from, function_of_kernel(from.func));
}

cudaMemPoolProps to_cuda(const hipMemPoolProps& from) {
  cudaMemPoolProps to{};
  to.allocType = static_cast<cudaMemAllocationType>(from.allocType);
  to.handleTypes = static_cast<cudaMemAllocationHandleType>(from.handleTypes);
  to.location = std::bit_cast<cudaMemLocation>(from.location);
  return to;
}

hipMemPoolProps to_hip(const cudaMemPoolProps& from) {
  hipMemPoolProps to{};
  to.allocType = static_cast<hipMemAllocationType>(from.allocType);
  to.handleTypes = static_cast<hipMemAllocationHandleType>(from.handleTypes);
  to.location = std::bit_cast<hipMemLocation>(from.location);
  return to;
}

cudaResourceDesc to_cuda(const hipResourceDesc& from) {
  cudaResourceDesc to{};
  to.resType = static_cast<cudaResourceType>(from.resType);
  static_assert(sizeof(from.res) <= sizeof(to.res) && sizeof(from.res.pitch2D) == sizeof(to.res.pitch2D) &&
                sizeof(from.res.linear) == sizeof(to.res.linear));
  std::memcpy(&to.res, &from.res, sizeof(from.res));
  return to;
}
hipResourceDesc to_hip(const cudaResourceDesc& from) {
  hipResourceDesc to{};
  to.resType = static_cast<hipResourceType>(from.resType);
  std::memcpy(&to.res, &from.res, sizeof(to.res));
  return to;
}

cudaResourceViewDesc to_cuda(const hipResourceViewDesc& from) {
  return {.format = static_cast<cudaResourceViewFormat>(from.format),
          .width = from.width,
          .height = from.height,
          .depth = from.depth,
          .firstMipmapLevel = from.firstMipmapLevel,
          .lastMipmapLevel = from.lastMipmapLevel,
          .firstLayer = from.firstLayer,
          .lastLayer = from.lastLayer,
          .reserved = {}};
}
hipResourceViewDesc to_hip(const cudaResourceViewDesc& from) {
  return {.format = static_cast<hipResourceViewFormat>(from.format),
          .width = from.width,
          .height = from.height,
          .depth = from.depth,
          .firstMipmapLevel = from.firstMipmapLevel,
          .lastMipmapLevel = from.lastMipmapLevel,
          .firstLayer = from.firstLayer,
          .lastLayer = from.lastLayer};
}

// CUDA's has the same members in the same order, and some behind them.
cudaTextureDesc to_cuda(const hipTextureDesc& from) {
  static_assert(offsetof(hipTextureDesc, borderColor) == offsetof(cudaTextureDesc, borderColor) &&
                offsetof(hipTextureDesc, maxMipmapLevelClamp) == offsetof(cudaTextureDesc, maxMipmapLevelClamp));
  cudaTextureDesc to{};
  std::memcpy(&to, &from, sizeof from);
  return to;
}
hipTextureDesc to_hip(const cudaTextureDesc& from) {
  hipTextureDesc to{};
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// The members have the same names, in another order.
template <typename To, typename From>
static To function_attributes(const From& from) {
  To to{};
  to.binaryVersion = from.binaryVersion;
  to.cacheModeCA = from.cacheModeCA;
  to.constSizeBytes = from.constSizeBytes;
  to.localSizeBytes = from.localSizeBytes;
  to.maxDynamicSharedSizeBytes = from.maxDynamicSharedSizeBytes;
  to.maxThreadsPerBlock = from.maxThreadsPerBlock;
  to.numRegs = from.numRegs;
  to.preferredShmemCarveout = from.preferredShmemCarveout;
  to.ptxVersion = from.ptxVersion;
  to.sharedSizeBytes = from.sharedSizeBytes;
  return to;
}
hipFuncAttributes to_hip(const cudaFuncAttributes& from) { return function_attributes<hipFuncAttributes>(from); }
cudaFuncAttributes to_cuda(const hipFuncAttributes& from) { return function_attributes<cudaFuncAttributes>(from); }

hipGraphNodeType to_hip(cudaGraphNodeType from) {
  switch (from) {
    case cudaGraphNodeTypeKernel: return hipGraphNodeTypeKernel;
    case cudaGraphNodeTypeMemcpy: return hipGraphNodeTypeMemcpy;
    case cudaGraphNodeTypeMemset: return hipGraphNodeTypeMemset;
    case cudaGraphNodeTypeHost: return hipGraphNodeTypeHost;
    case cudaGraphNodeTypeGraph: return hipGraphNodeTypeGraph;
    case cudaGraphNodeTypeEmpty: return hipGraphNodeTypeEmpty;
    case cudaGraphNodeTypeWaitEvent: return hipGraphNodeTypeWaitEvent;
    case cudaGraphNodeTypeEventRecord: return hipGraphNodeTypeEventRecord;
    default: return hipGraphNodeTypeCount;
  }
}

}  // namespace mneme::hip
