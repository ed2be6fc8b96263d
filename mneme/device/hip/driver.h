// HIP's functions, opened at run time.
//
// One table holds every function of AMD's HIP runtime that Mneme calls. One build therefore runs with and without ROCm, and tests
// use a library of their own. There is one table for each library; it stays for the life of the process, and may be read by
// several threads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/hip/hip_texture_types.h"
#include "mneme/device/hip/hip_types.h"

namespace mneme::hip {

// name, and parameters.
#define MNEME_HIP_FUNCTIONS(X)                                                                                                  \
  X(hipInit, unsigned flags)                                                                                                    \
  X(hipGetDeviceCount, int* count)                                                                                              \
  X(hipDeviceGet, int* device, int ordinal)                                                                                     \
  X(hipDeviceGetName, char* name, int size, int device)                                                                         \
  X(hipDeviceGetAttribute, int* value, Attribute attribute, int device)                                                         \
  X(hipDeviceTotalMem, size_t* bytes, int device)                                                                               \
  X(hipDeviceGetPCIBusId, char* address, int size, int device)                                                                  \
  X(hipGetDevice, int* device)                                                                                                  \
  X(hipSetDevice, int device)                                                                                                   \
  X(hipModuleLoadData, ModuleHandle* module, const void* image)                                                                 \
  X(hipModuleUnload, ModuleHandle module)                                                                                       \
  X(hipModuleGetFunction, FunctionHandle* function, ModuleHandle module, const char* name)                                      \
  X(hipModuleGetGlobal, void** address, size_t* size, ModuleHandle module, const char* name)                                    \
  X(hipFuncGetAttribute, int* value, int attribute, FunctionHandle function)                                                    \
  X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, FunctionHandle function, int threads, size_t shared)       \
  X(hipModuleLaunchKernel, FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
    unsigned block_y, unsigned block_z, unsigned shared, StreamHandle stream, void** arguments, void** packed)                  \
  X(hipRuntimeGetVersion, int* version)                                                                                         \
  X(hipStreamCreateWithFlags, StreamHandle* stream, unsigned flags)                                                             \
  X(hipStreamDestroy, StreamHandle stream)                                                                                      \
  X(hipStreamSynchronize, StreamHandle stream)                                                                                  \
  X(hipEventCreateWithFlags, EventHandle* event, unsigned flags)                                                                \
  X(hipEventDestroy, EventHandle event)                                                                                         \
  X(hipEventRecord, EventHandle event, StreamHandle stream)                                                                     \
  X(hipEventSynchronize, EventHandle event)                                                                                     \
  X(hipEventElapsedTime, float* milliseconds, EventHandle start, EventHandle end)                                               \
  X(hipMalloc, void** pointer, size_t size)                                                                                     \
  X(hipFree, void* pointer)                                                                                                     \
  X(hipHostMalloc, void** pointer, size_t size, unsigned flags)                                                                 \
  X(hipHostFree, void* pointer)                                                                                                 \
  X(hipHostRegister, void* pointer, size_t size, unsigned flags)                                                                \
  X(hipHostUnregister, void* pointer)                                                                                           \
  X(hipHostGetDevicePointer, void** device, void* host, unsigned flags)                                                         \
  X(hipMemcpyHtoDAsync, void* to, void* from, size_t size, StreamHandle stream)                                                 \
  X(hipMemcpyDtoHAsync, void* to, void* from, size_t size, StreamHandle stream)                                                 \
  X(hipMemcpyDtoDAsync, void* to, void* from, size_t size, StreamHandle stream)                                                 \
  X(hipMemsetD8Async, void* to, unsigned char value, size_t size, StreamHandle stream)                                          \
  X(hipMalloc3DArray, ArrayHandle* array, const ChannelDescription* channels, Extent extent, unsigned flags)                    \
  X(hipFreeArray, ArrayHandle array)                                                                                            \
  X(hipMallocMipmappedArray, MipmappedHandle* array, const ChannelDescription* channels, Extent extent, unsigned levels,        \
    unsigned flags)                                                                                                             \
  X(hipGetMipmappedArrayLevel, ArrayHandle* level, MipmappedHandle array, unsigned number)                                      \
  X(hipFreeMipmappedArray, MipmappedHandle array)                                                                               \
  X(hipMemcpy3DAsync, const Copy3d* copy, StreamHandle stream)                                                                  \
  X(hipCreateTextureObject, TextureHandle* texture, const ResourceDescription* resource, const TextureDescription* description, \
    const ViewDescription* view)                                                                                                \
  X(hipDestroyTextureObject, TextureHandle texture)                                                                             \
  X(hipMemGetAllocationGranularity, size_t* granularity, const AllocationProperties* properties, int option)                    \
  X(hipMemAddressReserve, void** pointer, size_t size, size_t alignment, void* wish, unsigned long long flags)                  \
  X(hipMemAddressFree, void* pointer, size_t size)                                                                              \
  X(hipMemCreate, MemoryHandle* memory, size_t size, const AllocationProperties* properties, unsigned long long flags)          \
  X(hipMemRelease, MemoryHandle memory)                                                                                         \
  X(hipMemMap, void* pointer, size_t size, size_t offset, MemoryHandle memory, unsigned long long flags)                        \
  X(hipMemUnmap, void* pointer, size_t size)                                                                                    \
  X(hipMemSetAccess, void* pointer, size_t size, const AccessDescription* access, size_t count)                                 \
  X(hipMemExportToShareableHandle, void* handle, MemoryHandle memory, int type, unsigned long long flags)                       \
  X(hipMemImportFromShareableHandle, MemoryHandle* memory, void* handle, int type)

struct Driver {
#define MNEME_HIP_MEMBER(name, ...) Error (*name)(__VA_ARGS__) = nullptr;
  MNEME_HIP_FUNCTIONS(MNEME_HIP_MEMBER)
#undef MNEME_HIP_MEMBER
  // The runtime has these two under names of C++.
  Error (*hipCreateSurfaceObject)(SurfaceHandle* surface, const ResourceDescription* resource) = nullptr;
  Error (*hipDestroySurfaceObject)(SurfaceHandle surface) = nullptr;
  const char* (*hipGetErrorName)(Error error) = nullptr;
  const char* (*hipGetErrorString)(Error error) = nullptr;
  // hipModuleLaunchCooperativeKernel, which ROCm 5.2 does not have; null there.
  Error (*launch_cooperative)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, StreamHandle stream,
                              void** arguments) = nullptr;
  // The function that properties_layout names.
  Error (*properties)(void* properties, int device) = nullptr;
  PropertiesLayout properties_layout = kPropertiesBefore6;

  std::string library;  // the name it was opened under
};

// The names that the runtime has had, newest first: of ROCm 7, 6 and 5.
std::span<const std::string> runtime_libraries();

// The table of the first library that opens, which the first call opens. Before it opens one that the process does not have yet,
// it has kernels timed by the first of `profilers` that opens (DispatchClock::prepare()); empty: by none. unavailable, with
// advice: none opens, or one lacks a function. Thread-safe.
Result<const Driver*> open_driver(std::span<const std::string> libraries, const std::vector<std::string>& profilers = {});

// ok where AMD's kernel driver is there, and HIP's runtime opens; else unavailable. Where the file `control` of the kernel driver
// is not there nothing is opened.
Status find_driver(const std::string& control = "/dev/kfd");

}  // namespace mneme::hip
