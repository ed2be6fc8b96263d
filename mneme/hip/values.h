// How the values of HIP's functions become those of CUDA's, and the other way round.
//
// Three kinds of types have a partner of the other vendor: handles, which stand for the same object; those whose values are the
// same number for number or byte for byte, which is checked where they are declared; and those for which to_cuda() and to_hip()
// are written.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include "mneme/hip/headers.h"

namespace mneme::hip {

// Whether a value of one type is one of the other as it is.
template <typename Hip, typename Cuda>
inline constexpr bool kSame = std::is_same_v<Hip, Cuda> || (std::is_integral_v<Hip> && std::is_integral_v<Cuda>);

#define MNEME_SAME_TYPE(hip, cuda) \
  template <>                      \
  inline constexpr bool kSame<hip, cuda> = sizeof(hip) == sizeof(cuda);

// What handles point to. None of it is looked into here.
MNEME_SAME_TYPE(ihipStream_t*, cudaStream_t)
MNEME_SAME_TYPE(ihipEvent_t*, cudaEvent_t)
MNEME_SAME_TYPE(ihipGraph*, cudaGraph_t)
MNEME_SAME_TYPE(hipGraphNode*, cudaGraphNode_t)
MNEME_SAME_TYPE(hipGraphExec*, cudaGraphExec_t)
MNEME_SAME_TYPE(ihipMemPoolHandle_t*, cudaMemPool_t)
MNEME_SAME_TYPE(hipArray*, cudaArray_t)
MNEME_SAME_TYPE(const hipArray*, cudaArray_const_t)
MNEME_SAME_TYPE(hipMipmappedArray*, cudaMipmappedArray_t)
MNEME_SAME_TYPE(const hipMipmappedArray*, cudaMipmappedArray_const_t)
MNEME_SAME_TYPE(hipMipmappedArray*, cudaMipmappedArray_const_t)
MNEME_SAME_TYPE(hipTextureObject_t, cudaTextureObject_t)
MNEME_SAME_TYPE(hipSurfaceObject_t, cudaSurfaceObject_t)

// Enumerations of equal values.
#define MNEME_SAME_ENUM(hip, cuda) MNEME_SAME_TYPE(hip, cuda)
#define MNEME_EQUAL(hip, cuda) static_assert(static_cast<long long>(hip) == static_cast<long long>(cuda));

MNEME_SAME_ENUM(hipMemcpyKind, cudaMemcpyKind)
MNEME_EQUAL(hipMemcpyHostToHost, cudaMemcpyHostToHost)
MNEME_EQUAL(hipMemcpyHostToDevice, cudaMemcpyHostToDevice)
MNEME_EQUAL(hipMemcpyDeviceToHost, cudaMemcpyDeviceToHost)
MNEME_EQUAL(hipMemcpyDeviceToDevice, cudaMemcpyDeviceToDevice)
MNEME_EQUAL(hipMemcpyDefault, cudaMemcpyDefault)

MNEME_SAME_ENUM(hipStreamCaptureMode, cudaStreamCaptureMode)
MNEME_EQUAL(hipStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal)
MNEME_EQUAL(hipStreamCaptureModeThreadLocal, cudaStreamCaptureModeThreadLocal)
MNEME_EQUAL(hipStreamCaptureModeRelaxed, cudaStreamCaptureModeRelaxed)

MNEME_SAME_ENUM(hipStreamCaptureStatus, cudaStreamCaptureStatus)
MNEME_EQUAL(hipStreamCaptureStatusNone, cudaStreamCaptureStatusNone)
MNEME_EQUAL(hipStreamCaptureStatusActive, cudaStreamCaptureStatusActive)
MNEME_EQUAL(hipStreamCaptureStatusInvalidated, cudaStreamCaptureStatusInvalidated)

MNEME_SAME_ENUM(hipFuncCache_t, cudaFuncCache)
MNEME_EQUAL(hipFuncCachePreferNone, cudaFuncCachePreferNone)
MNEME_EQUAL(hipFuncCachePreferShared, cudaFuncCachePreferShared)
MNEME_EQUAL(hipFuncCachePreferL1, cudaFuncCachePreferL1)
MNEME_EQUAL(hipFuncCachePreferEqual, cudaFuncCachePreferEqual)

MNEME_SAME_ENUM(hipSharedMemConfig, cudaSharedMemConfig)
MNEME_EQUAL(hipSharedMemBankSizeDefault, cudaSharedMemBankSizeDefault)
MNEME_EQUAL(hipSharedMemBankSizeFourByte, cudaSharedMemBankSizeFourByte)
MNEME_EQUAL(hipSharedMemBankSizeEightByte, cudaSharedMemBankSizeEightByte)

MNEME_SAME_ENUM(hipLimit_t, cudaLimit)
MNEME_EQUAL(hipLimitPrintfFifoSize, cudaLimitPrintfFifoSize)
MNEME_EQUAL(hipLimitMallocHeapSize, cudaLimitMallocHeapSize)

MNEME_SAME_ENUM(hipFuncAttribute, cudaFuncAttribute)
MNEME_EQUAL(hipFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributeMaxDynamicSharedMemorySize)
MNEME_EQUAL(hipFuncAttributePreferredSharedMemoryCarveout, cudaFuncAttributePreferredSharedMemoryCarveout)

MNEME_SAME_ENUM(hipMemPoolAttr, cudaMemPoolAttr)
MNEME_EQUAL(hipMemPoolReuseFollowEventDependencies, cudaMemPoolReuseFollowEventDependencies)
MNEME_EQUAL(hipMemPoolReuseAllowOpportunistic, cudaMemPoolReuseAllowOpportunistic)
MNEME_EQUAL(hipMemPoolReuseAllowInternalDependencies, cudaMemPoolReuseAllowInternalDependencies)
MNEME_EQUAL(hipMemPoolAttrReleaseThreshold, cudaMemPoolAttrReleaseThreshold)
MNEME_EQUAL(hipMemPoolAttrReservedMemCurrent, cudaMemPoolAttrReservedMemCurrent)
MNEME_EQUAL(hipMemPoolAttrReservedMemHigh, cudaMemPoolAttrReservedMemHigh)
MNEME_EQUAL(hipMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemCurrent)
MNEME_EQUAL(hipMemPoolAttrUsedMemHigh, cudaMemPoolAttrUsedMemHigh)

MNEME_SAME_ENUM(hipMemAccessFlags, cudaMemAccessFlags)
MNEME_EQUAL(hipMemAccessFlagsProtNone, cudaMemAccessFlagsProtNone)
MNEME_EQUAL(hipMemAccessFlagsProtRead, cudaMemAccessFlagsProtRead)
MNEME_EQUAL(hipMemAccessFlagsProtReadWrite, cudaMemAccessFlagsProtReadWrite)
MNEME_EQUAL(hipMemLocationTypeDevice, cudaMemLocationTypeDevice)
MNEME_EQUAL(hipMemAllocationTypePinned, cudaMemAllocationTypePinned)
MNEME_EQUAL(hipMemHandleTypeNone, cudaMemHandleTypeNone)
MNEME_EQUAL(hipMemHandleTypePosixFileDescriptor, cudaMemHandleTypePosixFileDescriptor)

MNEME_SAME_ENUM(hipMemRangeAttribute, cudaMemRangeAttribute)  // but for hipMemRangeAttributeCoherencyMode, which CUDA has not
MNEME_EQUAL(hipMemRangeAttributeReadMostly, cudaMemRangeAttributeReadMostly)
MNEME_EQUAL(hipMemRangeAttributePreferredLocation, cudaMemRangeAttributePreferredLocation)
MNEME_EQUAL(hipMemRangeAttributeAccessedBy, cudaMemRangeAttributeAccessedBy)
MNEME_EQUAL(hipMemRangeAttributeLastPrefetchLocation, cudaMemRangeAttributeLastPrefetchLocation)

MNEME_SAME_ENUM(hipMemoryAdvise, cudaMemoryAdvise)  // but for coarse and fine grain, which CUDA has not
MNEME_EQUAL(hipMemAdviseSetReadMostly, cudaMemAdviseSetReadMostly)
MNEME_EQUAL(hipMemAdviseUnsetReadMostly, cudaMemAdviseUnsetReadMostly)
MNEME_EQUAL(hipMemAdviseSetPreferredLocation, cudaMemAdviseSetPreferredLocation)
MNEME_EQUAL(hipMemAdviseUnsetPreferredLocation, cudaMemAdviseUnsetPreferredLocation)
MNEME_EQUAL(hipMemAdviseSetAccessedBy, cudaMemAdviseSetAccessedBy)
MNEME_EQUAL(hipMemAdviseUnsetAccessedBy, cudaMemAdviseUnsetAccessedBy)

MNEME_EQUAL(hipChannelFormatKindSigned, cudaChannelFormatKindSigned)
MNEME_EQUAL(hipChannelFormatKindUnsigned, cudaChannelFormatKindUnsigned)
MNEME_EQUAL(hipChannelFormatKindFloat, cudaChannelFormatKindFloat)
MNEME_EQUAL(hipChannelFormatKindNone, cudaChannelFormatKindNone)
MNEME_EQUAL(hipAddressModeWrap, cudaAddressModeWrap)
MNEME_EQUAL(hipAddressModeClamp, cudaAddressModeClamp)
MNEME_EQUAL(hipAddressModeMirror, cudaAddressModeMirror)
MNEME_EQUAL(hipAddressModeBorder, cudaAddressModeBorder)
MNEME_EQUAL(hipFilterModePoint, cudaFilterModePoint)
MNEME_EQUAL(hipFilterModeLinear, cudaFilterModeLinear)
MNEME_EQUAL(hipReadModeElementType, cudaReadModeElementType)
MNEME_EQUAL(hipReadModeNormalizedFloat, cudaReadModeNormalizedFloat)
MNEME_EQUAL(hipResourceTypeArray, cudaResourceTypeArray)
MNEME_EQUAL(hipResourceTypeMipmappedArray, cudaResourceTypeMipmappedArray)
MNEME_EQUAL(hipResourceTypeLinear, cudaResourceTypeLinear)
MNEME_EQUAL(hipResourceTypePitch2D, cudaResourceTypePitch2D)
MNEME_EQUAL(hipResViewFormatNone, cudaResViewFormatNone)
MNEME_EQUAL(hipResViewFormatFloat4, cudaResViewFormatFloat4)
MNEME_EQUAL(hipResViewFormatUnsignedBlockCompressed7, cudaResViewFormatUnsignedBlockCompressed7)
MNEME_EQUAL(hipGraphExecUpdateError, cudaGraphExecUpdateError)
MNEME_EQUAL(hipGraphExecUpdateErrorTopologyChanged, cudaGraphExecUpdateErrorTopologyChanged)
MNEME_EQUAL(hipGraphExecUpdateErrorUnsupportedFunctionChange, cudaGraphExecUpdateErrorUnsupportedFunctionChange)

// Flags that are numbers in both.
MNEME_EQUAL(hipStreamNonBlocking, cudaStreamNonBlocking)
MNEME_EQUAL(hipEventBlockingSync, cudaEventBlockingSync)
MNEME_EQUAL(hipEventDisableTiming, cudaEventDisableTiming)
MNEME_EQUAL(hipEventInterprocess, cudaEventInterprocess)
MNEME_EQUAL(hipHostMallocPortable, cudaHostAllocPortable)
MNEME_EQUAL(hipHostMallocMapped, cudaHostAllocMapped)
MNEME_EQUAL(hipHostMallocWriteCombined, cudaHostAllocWriteCombined)
MNEME_EQUAL(hipHostRegisterPortable, cudaHostRegisterPortable)
MNEME_EQUAL(hipHostRegisterMapped, cudaHostRegisterMapped)
MNEME_EQUAL(hipHostRegisterIoMemory, cudaHostRegisterIoMemory)
MNEME_EQUAL(hipMemAttachGlobal, cudaMemAttachGlobal)
MNEME_EQUAL(hipMemAttachHost, cudaMemAttachHost)
MNEME_EQUAL(hipMemAttachSingle, cudaMemAttachSingle)
MNEME_EQUAL(hipDeviceScheduleSpin, cudaDeviceScheduleSpin)
MNEME_EQUAL(hipDeviceScheduleYield, cudaDeviceScheduleYield)
MNEME_EQUAL(hipDeviceScheduleBlockingSync, cudaDeviceScheduleBlockingSync)
MNEME_EQUAL(hipDeviceMapHost, cudaDeviceMapHost)
MNEME_EQUAL(hipArrayLayered, cudaArrayLayered)
MNEME_EQUAL(hipArraySurfaceLoadStore, cudaArraySurfaceLoadStore)
MNEME_EQUAL(hipArrayCubemap, cudaArrayCubemap)
MNEME_EQUAL(hipArrayTextureGather, cudaArrayTextureGather)
MNEME_EQUAL(hipOccupancyDefault, cudaOccupancyDefault)
MNEME_EQUAL(hipGraphInstantiateFlagAutoFreeOnLaunch, cudaGraphInstantiateFlagAutoFreeOnLaunch)
MNEME_EQUAL(hipStreamAddCaptureDependencies, cudaStreamAddCaptureDependencies)
MNEME_EQUAL(hipStreamSetCaptureDependencies, cudaStreamSetCaptureDependencies)
MNEME_EQUAL(hipCpuDeviceId, cudaCpuDeviceId)
MNEME_EQUAL(hipInvalidDeviceId, cudaInvalidDeviceId)

// Structures of equal layout.
#define MNEME_SAME_PLACE(hip, cuda, member) \
  static_assert(offsetof(hip, member) == offsetof(cuda, member) && sizeof(hip::member) == sizeof(cuda::member));

MNEME_SAME_TYPE(hip_dim3, dim3)
MNEME_SAME_PLACE(hip_dim3, dim3, x)
MNEME_SAME_PLACE(hip_dim3, dim3, y)
MNEME_SAME_PLACE(hip_dim3, dim3, z)
MNEME_SAME_TYPE(hipExtent, cudaExtent)
MNEME_SAME_PLACE(hipExtent, cudaExtent, width)
MNEME_SAME_PLACE(hipExtent, cudaExtent, height)
MNEME_SAME_PLACE(hipExtent, cudaExtent, depth)
MNEME_SAME_TYPE(hipPitchedPtr, cudaPitchedPtr)
MNEME_SAME_PLACE(hipPitchedPtr, cudaPitchedPtr, ptr)
MNEME_SAME_PLACE(hipPitchedPtr, cudaPitchedPtr, pitch)
MNEME_SAME_PLACE(hipPitchedPtr, cudaPitchedPtr, xsize)
MNEME_SAME_PLACE(hipPitchedPtr, cudaPitchedPtr, ysize)
MNEME_SAME_TYPE(hipChannelFormatDesc, cudaChannelFormatDesc)
MNEME_SAME_PLACE(hipChannelFormatDesc, cudaChannelFormatDesc, x)
MNEME_SAME_PLACE(hipChannelFormatDesc, cudaChannelFormatDesc, y)
MNEME_SAME_PLACE(hipChannelFormatDesc, cudaChannelFormatDesc, z)
MNEME_SAME_PLACE(hipChannelFormatDesc, cudaChannelFormatDesc, w)
MNEME_SAME_PLACE(hipChannelFormatDesc, cudaChannelFormatDesc, f)
MNEME_SAME_TYPE(hipMemcpy3DParms, cudaMemcpy3DParms)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, srcArray)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, srcPos)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, srcPtr)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, dstArray)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, dstPos)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, dstPtr)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, extent)
MNEME_SAME_PLACE(hipMemcpy3DParms, cudaMemcpy3DParms, kind)
MNEME_SAME_TYPE(hipHostNodeParams, cudaHostNodeParams)
MNEME_SAME_PLACE(hipHostNodeParams, cudaHostNodeParams, fn)
MNEME_SAME_PLACE(hipHostNodeParams, cudaHostNodeParams, userData)
MNEME_SAME_TYPE(hipMemLocation, cudaMemLocation)
MNEME_SAME_PLACE(hipMemLocation, cudaMemLocation, type)
MNEME_SAME_PLACE(hipMemLocation, cudaMemLocation, id)
MNEME_SAME_TYPE(hipMemAccessDesc, cudaMemAccessDesc)
MNEME_SAME_PLACE(hipMemAccessDesc, cudaMemAccessDesc, location)
MNEME_SAME_PLACE(hipMemAccessDesc, cudaMemAccessDesc, flags)

// Structures that are laid out otherwise. What the other vendor has not is left out, and empty on the way back.
cudaMemsetParams to_cuda(const hipMemsetParams& from);
hipMemsetParams to_hip(const cudaMemsetParams& from);
cudaKernelNodeParams to_cuda(const hipKernelNodeParams& from);
hipKernelNodeParams to_hip(const cudaKernelNodeParams& from);
cudaMemPoolProps to_cuda(const hipMemPoolProps& from);
hipMemPoolProps to_hip(const cudaMemPoolProps& from);
cudaResourceDesc to_cuda(const hipResourceDesc& from);
hipResourceDesc to_hip(const cudaResourceDesc& from);
cudaResourceViewDesc to_cuda(const hipResourceViewDesc& from);
hipResourceViewDesc to_hip(const cudaResourceViewDesc& from);
cudaTextureDesc to_cuda(const hipTextureDesc& from);
hipTextureDesc to_hip(const cudaTextureDesc& from);
hipFuncAttributes to_hip(const cudaFuncAttributes& from);
cudaFuncAttributes to_cuda(const hipFuncAttributes& from);
hipGraphNodeType to_hip(cudaGraphNodeType from);  // hipGraphNodeTypeCount: HIP has no such node

}  // namespace mneme::hip
