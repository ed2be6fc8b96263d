/* The functions of the CUDA driver that Mneme can stand before, by the names that the driver's library exports. Each version of a
 * function and each variant for per-thread default streams is a name of its own. Versions from before CUDA 4, whose addresses
 * have 32 bits, are left out: no program that runs today can use them.
 *
 * A function is added by its name here, and by what is to be done when it is called (mneme/record/driver).
 */
#ifndef MNEME_ABI_DRIVER_CALLS_H
#define MNEME_ABI_DRIVER_CALLS_H

/* Loading of device code, and what a program asks of it. */
#define MNEME_DRIVER_IMAGE_CALLS(X) \
  X(cuModuleLoad)                   \
  X(cuModuleLoadData)               \
  X(cuModuleLoadDataEx)             \
  X(cuModuleLoadFatBinary)          \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuModuleEnumerateFunctions)     \
  X(cuLibraryLoadData)              \
  X(cuLibraryLoadFromFile)          \
  X(cuLibraryUnload)                \
  X(cuLibraryGetKernel)             \
  X(cuLibraryEnumerateKernels)      \
  X(cuLibraryGetModule)             \
  X(cuKernelGetFunction)

/* Contexts, and which device reaches another one's memory. */
#define MNEME_DRIVER_CONTEXT_CALLS(X) \
  X(cuCtxCreate_v2)                   \
  X(cuCtxCreate_v3)                   \
  X(cuCtxCreate_v4)                   \
  X(cuCtxDestroy_v2)                  \
  X(cuCtxAttach)                      \
  X(cuCtxDetach)                      \
  X(cuDevicePrimaryCtxRetain)         \
  X(cuDevicePrimaryCtxRelease)        \
  X(cuDevicePrimaryCtxRelease_v2)     \
  X(cuDevicePrimaryCtxReset)          \
  X(cuDevicePrimaryCtxReset_v2)       \
  X(cuGreenCtxCreate)                 \
  X(cuCtxEnablePeerAccess)            \
  X(cuCtxDisablePeerAccess)           \
  X(cuMemPoolCreate)                  \
  X(cuMemPoolDestroy)                 \
  X(cuMemPoolSetAccess)

/* Memory that kernels see. */
#define MNEME_DRIVER_MEMORY_CALLS(X)           \
  X(cuMemAlloc_v2)                             \
  X(cuMemAllocPitch_v2)                        \
  X(cuMemFree_v2)                              \
  X(cuMemAllocAsync)                           \
  X(cuMemAllocAsync_ptsz)                      \
  X(cuMemAllocFromPoolAsync)                   \
  X(cuMemAllocFromPoolAsync_ptsz)              \
  X(cuMemFreeAsync)                            \
  X(cuMemFreeAsync_ptsz)                       \
  X(cuMemAllocManaged)                         \
  X(cuMemAddressReserve)                       \
  X(cuMemAddressFree)                          \
  X(cuMemCreate)                               \
  X(cuMemImportFromShareableHandle)            \
  X(cuMemRetainAllocationHandle)               \
  X(cuMemRelease)                              \
  X(cuMemMap)                                  \
  X(cuMemUnmap)                                \
  X(cuMemSetAccess)                            \
  X(cuMulticastBindMem)                        \
  X(cuMulticastBindAddr)                       \
  X(cuMemGetAddressRange_v2)                   \
  X(cuPointerGetAttribute)                     \
  X(cuPointerGetAttributes)                    \
  X(cuIpcGetMemHandle)                         \
  X(cuMemPoolTrimTo)                           \
  X(cuIpcOpenMemHandle)                        \
  X(cuIpcOpenMemHandle_v2)                     \
  X(cuIpcCloseMemHandle)                       \
  X(cuExternalMemoryGetMappedBuffer)           \
  X(cuGraphicsResourceGetMappedPointer_v2)     \
  X(cuMemPoolImportPointer)                    \
  X(cuTexObjectCreate)                         \
  X(cuTexObjectDestroy)                        \
  X(cuSurfObjectCreate)                        \
  X(cuSurfObjectDestroy)                       \
  X(cuMipmappedArrayCreate)                    \
  X(cuMipmappedArrayGetLevel)                  \
  X(cuMipmappedArrayDestroy)                   \
  X(cuArrayDestroy)                            \
  X(cuGraphicsSubResourceGetMappedArray)       \
  X(cuGraphicsResourceGetMappedMipmappedArray) \
  X(cuGraphicsUnmapResources)                  \
  X(cuGraphicsUnmapResources_ptsz)             \
  X(cuGraphicsUnregisterResource)              \
  X(cuModuleGetTexRef)                         \
  X(cuModuleGetSurfRef)                        \
  X(cuMemAllocHost_v2)                         \
  X(cuMemHostAlloc)                            \
  X(cuMemFreeHost)                             \
  X(cuMemHostRegister_v2)                      \
  X(cuMemHostUnregister)                       \
  X(cuMemHostGetFlags)

/* Launches, and what decides whether a launch runs at once. */
#define MNEME_DRIVER_LAUNCH_CALLS(X)      \
  X(cuLaunchKernel)                       \
  X(cuLaunchKernel_ptsz)                  \
  X(cuLaunchKernelEx)                     \
  X(cuLaunchKernelEx_ptsz)                \
  X(cuLaunchCooperativeKernel)            \
  X(cuLaunchCooperativeKernel_ptsz)       \
  X(cuLaunchCooperativeKernelMultiDevice) \
  X(cuLaunch)                             \
  X(cuLaunchGrid)                         \
  X(cuLaunchGridAsync)                    \
  X(cuStreamBeginCapture)                 \
  X(cuStreamBeginCapture_ptsz)            \
  X(cuStreamBeginCapture_v2)              \
  X(cuStreamBeginCapture_v2_ptsz)         \
  X(cuStreamBeginCaptureToGraph)          \
  X(cuStreamBeginCaptureToGraph_ptsz)     \
  X(cuStreamEndCapture)                   \
  X(cuStreamEndCapture_ptsz)              \
  X(cuStreamDestroy)                      \
  X(cuStreamDestroy_v2)

/* Graphs: what is made of one to be run, what is changed of that, and its launch. */
#define MNEME_DRIVER_GRAPH_CALLS(X)     \
  X(cuGraphConditionalHandleCreate)     \
  X(cuGraphAddNode)                     \
  X(cuGraphAddNode_v2)                  \
  X(cuGraphDestroy)                     \
  X(cuGraphDestroyNode)                 \
  X(cuGraphInstantiate)                 \
  X(cuGraphInstantiate_v2)              \
  X(cuGraphInstantiateWithFlags)        \
  X(cuGraphInstantiateWithParams)       \
  X(cuGraphInstantiateWithParams_ptsz)  \
  X(cuGraphExecUpdate)                  \
  X(cuGraphExecUpdate_v2)               \
  X(cuGraphExecKernelNodeSetParams)     \
  X(cuGraphExecKernelNodeSetParams_v2)  \
  X(cuGraphExecMemcpyNodeSetParams)     \
  X(cuGraphExecMemsetNodeSetParams)     \
  X(cuGraphExecHostNodeSetParams)       \
  X(cuGraphExecEventRecordNodeSetEvent) \
  X(cuGraphExecEventWaitNodeSetEvent)   \
  X(cuGraphExecChildGraphNodeSetParams) \
  X(cuGraphExecNodeSetParams)           \
  X(cuGraphNodeSetEnabled)              \
  X(cuGraphExecDestroy)                 \
  X(cuGraphLaunch)                      \
  X(cuGraphLaunch_ptsz)

/* Kernels in the nodes of graphs that are not executable yet: deployed code stands before these, and the recorder does not, which
 * reads a graph when it is made executable. */
#define MNEME_DRIVER_NODE_CALLS(X)   \
  X(cuGraphAddKernelNode)            \
  X(cuGraphAddKernelNode_v2)         \
  X(cuGraphKernelNodeGetParams)      \
  X(cuGraphKernelNodeGetParams_v2)   \
  X(cuGraphKernelNodeSetParams)      \
  X(cuGraphKernelNodeSetParams_v2)   \
  X(cuGraphKernelNodeSetAttribute)   \
  X(cuGraphKernelNodeCopyAttributes) \
  X(cuGraphNodeGetParams)            \
  X(cuGraphNodeSetParams)

/* Calls that write memory and are neither allocations nor launches. */
#define MNEME_DRIVER_WRITE_CALLS(X)    \
  X(cuMemcpy)                          \
  X(cuMemcpy_ptds)                     \
  X(cuMemcpyAsync)                     \
  X(cuMemcpyAsync_ptsz)                \
  X(cuMemcpyPeer)                      \
  X(cuMemcpyPeer_ptds)                 \
  X(cuMemcpyPeerAsync)                 \
  X(cuMemcpyPeerAsync_ptsz)            \
  X(cuMemcpyHtoD_v2)                   \
  X(cuMemcpyHtoD_v2_ptds)              \
  X(cuMemcpyHtoDAsync_v2)              \
  X(cuMemcpyHtoDAsync_v2_ptsz)         \
  X(cuMemcpyDtoD_v2)                   \
  X(cuMemcpyDtoD_v2_ptds)              \
  X(cuMemcpyDtoDAsync_v2)              \
  X(cuMemcpyDtoDAsync_v2_ptsz)         \
  X(cuMemcpyDtoH_v2)                   \
  X(cuMemcpyDtoH_v2_ptds)              \
  X(cuMemcpyDtoHAsync_v2)              \
  X(cuMemcpyDtoHAsync_v2_ptsz)         \
  X(cuMemcpyDtoA_v2)                   \
  X(cuMemcpyDtoA_v2_ptds)              \
  X(cuMemcpyHtoA_v2)                   \
  X(cuMemcpyHtoA_v2_ptds)              \
  X(cuMemcpyHtoAAsync_v2)              \
  X(cuMemcpyHtoAAsync_v2_ptsz)         \
  X(cuMemcpyAtoA_v2)                   \
  X(cuMemcpyAtoA_v2_ptds)              \
  X(cuMemcpyAtoD_v2)                   \
  X(cuMemcpyAtoD_v2_ptds)              \
  X(cuMemcpy2D_v2)                     \
  X(cuMemcpy2D_v2_ptds)                \
  X(cuMemcpy2DUnaligned_v2)            \
  X(cuMemcpy2DUnaligned_v2_ptds)       \
  X(cuMemcpy2DAsync_v2)                \
  X(cuMemcpy2DAsync_v2_ptsz)           \
  X(cuMemcpy3D_v2)                     \
  X(cuMemcpy3D_v2_ptds)                \
  X(cuMemcpy3DAsync_v2)                \
  X(cuMemcpy3DAsync_v2_ptsz)           \
  X(cuMemcpy3DPeer)                    \
  X(cuMemcpy3DPeer_ptds)               \
  X(cuMemcpy3DPeerAsync)               \
  X(cuMemcpy3DPeerAsync_ptsz)          \
  X(cuMemsetD8_v2)                     \
  X(cuMemsetD8_v2_ptds)                \
  X(cuMemsetD16_v2)                    \
  X(cuMemsetD16_v2_ptds)               \
  X(cuMemsetD32_v2)                    \
  X(cuMemsetD32_v2_ptds)               \
  X(cuMemsetD2D8_v2)                   \
  X(cuMemsetD2D8_v2_ptds)              \
  X(cuMemsetD2D16_v2)                  \
  X(cuMemsetD2D16_v2_ptds)             \
  X(cuMemsetD2D32_v2)                  \
  X(cuMemsetD2D32_v2_ptds)             \
  X(cuMemsetD8Async)                   \
  X(cuMemsetD8Async_ptsz)              \
  X(cuMemsetD16Async)                  \
  X(cuMemsetD16Async_ptsz)             \
  X(cuMemsetD32Async)                  \
  X(cuMemsetD32Async_ptsz)             \
  X(cuMemsetD2D8Async)                 \
  X(cuMemsetD2D8Async_ptsz)            \
  X(cuMemsetD2D16Async)                \
  X(cuMemsetD2D16Async_ptsz)           \
  X(cuMemsetD2D32Async)                \
  X(cuMemsetD2D32Async_ptsz)           \
  X(cuMemcpyBatchAsync)                \
  X(cuMemcpyBatchAsync_ptsz)           \
  X(cuMemcpyBatchAsync_v2)             \
  X(cuMemcpyBatchAsync_v2_ptsz)        \
  X(cuMemcpy3DBatchAsync)              \
  X(cuMemcpy3DBatchAsync_ptsz)         \
  X(cuMemcpy3DBatchAsync_v2)           \
  X(cuMemcpy3DBatchAsync_v2_ptsz)      \
  X(cuMemcpyAtoH_v2)                   \
  X(cuMemcpyAtoH_v2_ptds)              \
  X(cuMemcpyAtoHAsync_v2)              \
  X(cuMemcpyAtoHAsync_v2_ptsz)         \
  X(cuStreamWriteValue32)              \
  X(cuStreamWriteValue32_ptsz)         \
  X(cuStreamWriteValue32_v2)           \
  X(cuStreamWriteValue32_v2_ptsz)      \
  X(cuStreamWriteValue64)              \
  X(cuStreamWriteValue64_ptsz)         \
  X(cuStreamWriteValue64_v2)           \
  X(cuStreamWriteValue64_v2_ptsz)      \
  X(cuStreamBatchMemOp)                \
  X(cuStreamBatchMemOp_ptsz)           \
  X(cuStreamBatchMemOp_v2)             \
  X(cuStreamBatchMemOp_v2_ptsz)        \
  X(cuMemBatchDecompressAsync)         \
  X(cuMemBatchDecompressAsync_ptsz)    \
  X(cuMemDiscardBatchAsync)            \
  X(cuMemDiscardBatchAsync_ptsz)       \
  X(cuMemDiscardAndPrefetchBatchAsync) \
  X(cuMemDiscardAndPrefetchBatchAsync_ptsz)

#define MNEME_DRIVER_CALLS(X)   \
  MNEME_DRIVER_IMAGE_CALLS(X)   \
  MNEME_DRIVER_CONTEXT_CALLS(X) \
  MNEME_DRIVER_MEMORY_CALLS(X)  \
  MNEME_DRIVER_LAUNCH_CALLS(X) MNEME_DRIVER_GRAPH_CALLS(X) MNEME_DRIVER_NODE_CALLS(X) MNEME_DRIVER_WRITE_CALLS(X)

#endif
