// The headers of both vendors' runtimes, which otherwise exclude each other: HIP's dim3 is hip_dim3 here, and what regards device
// code is left out.
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <climits>
#include <cstring>
#include <string>

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#define HIP_INCLUDE_HIP_AMD_DETAIL_CHANNEL_DESCRIPTOR_H  // vector types, of which both vendors have the same names
template <typename T>
struct hipChannelFormatDesc hipCreateChannelDesc();
#define dim3 hip_dim3
#include <hip/hip_runtime_api.h>
#undef dim3
// HIP's macros of device code mean nothing, or other than the compiler's attributes of these names.
#undef __noinline__
#undef __forceinline__

#include "mneme/abi/call_table.h"
#include "mneme/abi/hip_calls.inc"

extern "C" {
// As clang declares them in the code that it generates.
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** handle, const void* host_function, char* device_function, const char* device_name,
                           unsigned thread_limit, void* tid, void* bid, void* block, void* grid, int* warp_size);
void __hipRegisterVar(void** handle, void* host_variable, char* device_address, const char* device_name, int external,
                      size_t size, int constant, int global);
void __hipRegisterManagedVar(void** handle, void** host_pointer, void* initial_value, const char* device_name, size_t size,
                             unsigned alignment);
void __hipRegisterSurface(void** handle, void* host_variable, char* device_variable, const char* device_name, int type,
                          int external);
void __hipRegisterTexture(void** handle, void* host_variable, char* device_variable, const char* device_name, int type,
                          int normalized, int external);
void __hipUnregisterFatBinary(void** handle);
}
