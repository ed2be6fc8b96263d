// CUDA's names for HIP, so that the programs of the tests are HIP programs as they are: included before each. The other headers
// here are for AMD's platform alone.
#pragma once

#include <hip/hip_runtime.h>
// Behind it, since it needs it. Of relocatable code each file would define some of its functions.
#if !defined(__CLANG_RDC__) || !defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_cooperative_groups.h>
#endif

#define cudaError_t hipError_t
#define cudaFree hipFree
#define cudaFreeHost hipHostFree
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaGetSymbolAddress(pointer, symbol) hipGetSymbolAddress(pointer, HIP_SYMBOL(symbol))
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel
#define cudaMalloc hipMalloc
#define cudaMallocManaged hipMallocManaged
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyFromSymbol(to, symbol, ...) hipMemcpyFromSymbol(to, HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyToSymbol(symbol, ...) hipMemcpyToSymbol(HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemset hipMemset
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCreate hipStreamCreate
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess
#define cudaGraphAddKernelNode hipGraphAddKernelNode
#define cudaGraphCreate hipGraphCreate
#define cudaGraphExecDestroy hipGraphExecDestroy
#define cudaGraphExecKernelNodeSetParams hipGraphExecKernelNodeSetParams
#define cudaGraphExec_t hipGraphExec_t
#define cudaGraphInstantiate(executable, graph, flags) hipGraphInstantiate(executable, graph, nullptr, nullptr, flags)
#define cudaGraphKernelNodeGetParams hipGraphKernelNodeGetParams
#define cudaGraphKernelNodeSetParams hipGraphKernelNodeSetParams
#define cudaGraphLaunch hipGraphLaunch
#define cudaGraphNode_t hipGraphNode_t
#define cudaGraph_t hipGraph_t
#define cudaKernelNodeParams hipKernelNodeParams

// Memory of the host, and managed memory. ROCm takes the place of managed memory as a device's number.
#define cudaDevAttrConcurrentManagedAccess hipDeviceAttributeConcurrentManagedAccess
#define cudaDevAttrManagedMemory hipDeviceAttributeManagedMemory
#define cudaDeviceGetAttribute hipDeviceGetAttribute
#define cudaHostAlloc(pointer, size, flags) hipHostMalloc((void**)(pointer), size, flags)
#define cudaHostAllocMapped hipHostMallocMapped
#define cudaHostGetDevicePointer(device, host, flags) hipHostGetDevicePointer((void**)(device), host, flags)
#define cudaHostGetFlags hipHostGetFlags
#define cudaHostRegister hipHostRegister
#define cudaHostRegisterMapped hipHostRegisterMapped
#define cudaHostUnregister hipHostUnregister
#define cudaMallocHost(pointer, size) hipHostMalloc((void**)(pointer), size, 0)
#define cudaMemAdvise(pointer, size, advice, place) hipMemAdvise(pointer, size, advice, (place).id)
#define cudaMemAdviseSetPreferredLocation hipMemAdviseSetPreferredLocation
#define cudaMemAttachHost hipMemAttachHost
#define cudaMemLocation hipMemLocation
#define cudaMemLocationTypeDevice hipMemLocationTypeDevice
#define cudaMemPrefetchAsync(pointer, size, place, flags) hipMemPrefetchAsync(pointer, size, (place).id, 0)
#define cudaMemRangeAttributePreferredLocation hipMemRangeAttributePreferredLocation
#define cudaMemRangeGetAttribute hipMemRangeGetAttribute
#define cudaMemcpyDefault hipMemcpyDefault

#ifdef __HIP_PLATFORM_AMD__
// Pointers' attributes with CUDA's types, as ROCm has them since 6; before it an unknown pointer is an error.
enum { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2, cudaMemoryTypeManaged = 3 };
struct cudaPointerAttributes {
  int type;
  void *devicePointer, *hostPointer;
};
inline hipError_t cudaPointerGetAttributes(cudaPointerAttributes* to, const void* pointer) {
  hipPointerAttribute_t found{};
  *to = {};
  if (hipPointerGetAttributes(&found, pointer) != hipSuccess) return (void)hipGetLastError(), hipSuccess;
#if HIP_VERSION_MAJOR < 6
  const int type = found.memoryType == hipMemoryTypeHost ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
#else
  const int type = found.type;
#endif
  *to = {found.isManaged ? cudaMemoryTypeManaged : type, found.devicePointer, found.hostPointer};
  return hipSuccess;
}
#endif

// Textures and surfaces.
#define cudaAddressModeBorder hipAddressModeBorder
#define cudaAddressModeClamp hipAddressModeClamp
#define cudaAddressModeMirror hipAddressModeMirror
#define cudaAddressModeWrap hipAddressModeWrap
#define cudaArrayCubemap hipArrayCubemap
#define cudaArrayLayered hipArrayLayered
#define cudaArraySurfaceLoadStore hipArraySurfaceLoadStore
#define cudaArrayTextureGather hipArrayTextureGather
#define cudaArray_t hipArray_t
#define cudaBoundaryModeTrap hipBoundaryModeTrap
#define cudaBoundaryModeZero hipBoundaryModeZero
#define cudaChannelFormatKindUnsigned hipChannelFormatKindUnsigned
#define cudaCreateChannelDesc hipCreateChannelDesc
#define cudaCreateSurfaceObject hipCreateSurfaceObject
#define cudaCreateTextureObject hipCreateTextureObject
#define cudaDestroySurfaceObject hipDestroySurfaceObject
#define cudaExtent hipExtent
#define cudaFilterModeLinear hipFilterModeLinear
#define cudaFilterModePoint hipFilterModePoint
#define cudaFreeArray hipFreeArray
#define cudaGetErrorName hipGetErrorName
#define cudaGetMipmappedArrayLevel hipGetMipmappedArrayLevel
#define cudaMalloc3DArray hipMalloc3DArray
#define cudaMallocArray hipMallocArray
#define cudaMallocMipmappedArray hipMallocMipmappedArray
#define cudaMallocPitch hipMallocPitch
#define cudaMemcpy2D hipMemcpy2D
#define cudaMemcpy2DFromArray hipMemcpy2DFromArray
#define cudaMemcpy2DToArray hipMemcpy2DToArray
#define cudaMemcpy3D hipMemcpy3D
#define cudaMemcpy3DParms hipMemcpy3DParms
#define cudaMipmappedArray_t hipMipmappedArray_t
#define cudaReadModeElementType hipReadModeElementType
#define cudaReadModeNormalizedFloat hipReadModeNormalizedFloat
#define cudaResourceDesc hipResourceDesc
#define cudaResourceTypeArray hipResourceTypeArray
#define cudaResourceTypeLinear hipResourceTypeLinear
#define cudaResourceTypeMipmappedArray hipResourceTypeMipmappedArray
#define cudaResourceTypePitch2D hipResourceTypePitch2D
#define cudaSurfaceBoundaryMode hipSurfaceBoundaryMode
#define cudaSurfaceObject_t hipSurfaceObject_t
#define cudaTextureAddressMode hipTextureAddressMode
#define cudaTextureDesc hipTextureDesc
#define cudaTextureFilterMode hipTextureFilterMode
#define cudaTextureObject_t hipTextureObject_t
#define cudaTextureReadMode hipTextureReadMode
#define make_cudaExtent make_hipExtent
#define make_cudaPitchedPtr make_hipPitchedPtr

#ifdef __HIP_PLATFORM_AMD__
#define cudaGraphExecUpdate(executable, graph, updated) \
  hipGraphExecUpdate(executable, graph, &(updated)->node, &(updated)->result)
struct cudaGraphExecUpdateResultInfo {
  hipGraphNode_t node;
  hipGraphExecUpdateResult result;
};
#define cudaStreamPerThread hipStreamPerThread
// Warps of 32 threads are halves of a wavefront.
#define __shfl_down_sync(mask, value, by) __shfl_down(value, by, 32)
#endif
