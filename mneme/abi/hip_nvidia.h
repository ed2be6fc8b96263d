/* HIP's headers for the NVIDIA platform are written over CUDA 11: what they expect of it, and CUDA 12 and 13 no longer have,
 * stands here, each with what CUDA has in its place. `mneme config --hip --platform nvidia cxxflags` has clang include this file
 * before every file. It includes <hip/hip_runtime_api.h>, since some of it holds for that header alone. It is nothing in files
 * that are not C++, and where HIP's headers or CUDA's are not found. With CUDA 11 it gives nothing.
 */
#ifndef MNEME_ABI_HIP_NVIDIA_H
#define MNEME_ABI_HIP_NVIDIA_H
#if defined(__HIP_PLATFORM_NVIDIA__) && defined(__cplusplus) && \
    __has_include(<hip/hip_version.h>) && __has_include(<cuda_runtime_api.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <hip/hip_version.h>

#if CUDART_VERSION >= 12000 && HIP_VERSION_MAJOR < 6
/* Texture references, which CUDA 12 removed. What the host does with one is not supported; kernels that read one do not compile.
 */
template <class T, int dimensions, enum cudaTextureReadMode mode>
struct texture;
#define MNEME_NOT_IN_CUDA(function)                         \
  template <class... Arguments>                             \
  static inline cudaError_t function(const Arguments&...) { \
    return cudaErrorNotSupported;                           \
  }
MNEME_NOT_IN_CUDA(cudaBindTexture)
MNEME_NOT_IN_CUDA(cudaBindTexture2D)
MNEME_NOT_IN_CUDA(cudaBindTextureToArray)
MNEME_NOT_IN_CUDA(cudaGetTextureAlignmentOffset)
MNEME_NOT_IN_CUDA(cudaUnbindTexture)
#undef MNEME_NOT_IN_CUDA
#endif

#if CUDART_VERSION >= 13000
/* Advice and prefetching name a device by its number; CUDA 13 has a place, which may be the host's memory. */
static inline cudaMemLocation mneme_memory_of(int device) {
  cudaMemLocation location;
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}
static inline cudaError_t cudaMemAdvise(const void* memory, size_t size, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(memory, size, advice, mneme_memory_of(device));
}
static inline cudaError_t cudaMemPrefetchAsync(const void* memory, size_t size, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync(memory, size, mneme_memory_of(device), 0, stream);
}

/* Edges of graphs without data, which are all that HIP has. */
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                   size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                      size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count) {
  return cudaGraphNodeGetDependencies(node, dependencies, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents, size_t* count) {
  return cudaGraphNodeGetDependentNodes(node, dependents, nullptr, count);
}
static inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                      unsigned long long* id, cudaGraph_t* graph,
                                                      const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
static inline CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                                 const CUgraphNode** dependencies, size_t* count) {
  return cuStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count,
                                                              unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags);
}

/* Contexts are made by another version of the function (the name is a macro), which takes parameters that may be left out. */
static inline CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate(context, nullptr, flags, device);
}

/* Cooperative launches over several devices, which CUDA 13 removed: programs are told so by the device's properties and by the
 * call. */
struct cudaLaunchParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  void** args;
  size_t sharedMem;
  cudaStream_t stream;
};
static inline cudaError_t cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams*, unsigned, unsigned) {
  return cudaErrorNotSupported;
}
static const cudaDeviceAttr cudaDevAttrCooperativeMultiDeviceLaunch = cudaDevAttrReserved96;

/* Members of a device's properties that are attributes now. Only HIP's header sees the struct by CUDA's name: HIP's own, which
 * programs see, has them all. */
struct mneme_cuda_properties : cudaDeviceProp {
  int clockRate, memoryClockRate, computeMode, deviceOverlap, kernelExecTimeoutEnabled, maxTexture1DLinear;
  int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};
static inline cudaError_t cudaGetDeviceProperties(mneme_cuda_properties* properties, int device) {
  *properties = mneme_cuda_properties();
  struct {
    int* value;
    cudaDeviceAttr attribute;
  } const members[] = {{&properties->clockRate, cudaDevAttrClockRate},
                       {&properties->memoryClockRate, cudaDevAttrMemoryClockRate},
                       {&properties->computeMode, cudaDevAttrComputeMode},
                       {&properties->deviceOverlap, cudaDevAttrGpuOverlap},
                       {&properties->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout},
                       {&properties->maxTexture1DLinear, cudaDevAttrMaxTexture1DLinearWidth},
                       {&properties->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio}};
  cudaError_t status = cudaGetDeviceProperties(static_cast<cudaDeviceProp*>(properties), device);
  for (const auto& member : members)
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(member.value, member.attribute, device);
  return status;
}
#define cudaDeviceProp mneme_cuda_properties
#endif

#include <hip/hip_runtime_api.h>
#undef cudaDeviceProp
#endif
#endif
