// The CUDA driver's functions, opened at run time.
//
// One table holds every driver function that Mneme calls. One build therefore runs with and without a driver, and tests use a
// library of their own. There is one table for each library; it stays for the life of the process, and may be read by several
// threads.
#pragma once

#include <cuda.h>

#include <string>

#include "mneme/base/status.h"

namespace mneme::cuda {

// Each is opened under the name that cuda.h gives it, which carries the version of its signature ("cuMemAlloc_v2").
#define MNEME_CUDA_FUNCTIONS(X)                  \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDeviceGetPCIBusId)                         \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxGetCurrent)                             \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxGetLimit)                               \
  X(cuCtxSetLimit)                               \
  X(cuModuleLoadDataEx)                          \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuModuleGetGlobal)                           \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernelEx)                            \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemHostRegister)                           \
  X(cuMemHostUnregister)                         \
  X(cuMemHostGetDevicePointer)                   \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyDtoDAsync)                           \
  X(cuMemcpy3DAsync)                             \
  X(cuMemsetD8Async)                             \
  X(cuArray3DCreate)                             \
  X(cuArrayDestroy)                              \
  X(cuMipmappedArrayCreate)                      \
  X(cuMipmappedArrayGetLevel)                    \
  X(cuMipmappedArrayDestroy)                     \
  X(cuTexObjectCreate)                           \
  X(cuTexObjectDestroy)                          \
  X(cuSurfObjectCreate)                          \
  X(cuSurfObjectDestroy)                         \
  X(cuMemGetAllocationGranularity)               \
  X(cuMemAddressReserve)                         \
  X(cuMemAddressFree)                            \
  X(cuMemCreate)                                 \
  X(cuMemRelease)                                \
  X(cuMemMap)                                    \
  X(cuMemUnmap)                                  \
  X(cuMemSetAccess)                              \
  X(cuMemExportToShareableHandle)                \
  X(cuMemImportFromShareableHandle)

struct Driver {
#define MNEME_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  MNEME_CUDA_FUNCTIONS(MNEME_CUDA_MEMBER)
#undef MNEME_CUDA_MEMBER
  // cuEventElapsedTime. It is opened under its first name: the second version, which cuda.h prefers, has the same signature,
  // but came with CUDA 12.8.
  CUresult (*event_elapsed_time)(float* milliseconds, CUevent start, CUevent end) = nullptr;
  // cuFuncGetParamInfo, which came with CUDA 12.4; null before.
  CUresult (*parameter_info)(CUfunction function, size_t index, size_t* offset, size_t* size) = nullptr;

  std::string library;  // the name it was opened under
};

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// The table of `library`, which the first call opens. unavailable, with advice: the library cannot be opened, or lacks a
// function. Thread-safe.
Result<const Driver*> open_driver(const std::string& library = kDriverLibrary);

}  // namespace mneme::cuda
