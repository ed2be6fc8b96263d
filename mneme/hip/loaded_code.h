// Code that an interposer loads at a program's own HIP runtime, through CUDA's slots for libraries (cudaLibraryLoadData).
//
// A library of CUDA's and its kernels are for all devices, and are there when they are needed; a module of HIP's is loaded onto
// one. So a library has a module for each device on which it was asked for something, and the handle of a kernel stands for a
// function of HIP's on each. All is thread-safe. A failure of the runtime is returned as CUDA's code of that error.
#pragma once

#include "mneme/hip/table.h"

namespace mneme::hip {

// Whether a pointer is the handle of a kernel of loaded code. Where nothing was loaded this costs one load.
bool is_loaded_kernel(const void* pointer);
// The function that such a handle stands for on the current device, onto which the module is loaded if it was not. Null: it could
// not be loaded. Any other pointer is returned as it is.
void* function_of_kernel(void* pointer);
// The handle that stands for such a function; any other pointer is returned as it is.
void* kernel_of_function(void* pointer);

struct LoadedLaunch {
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
  void** arguments = nullptr;
};
// Launches on the current device. cudaErrorInvalidResourceHandle: the handle is none of loaded code.
cudaError_t launch_loaded(Table& table, const void* kernel, const LoadedLaunch& launch);
// cudaErrorNotSupported: HIP's runtime is one before ROCm 5.5, which cannot do that.
cudaError_t launch_loaded_cooperatively(Table& table, const void* kernel, const LoadedLaunch& launch);

// To be called before the program resets the device, which takes what was loaded with it: all is loaded anew when it is asked for
// next.
void unload_from_current_device(Table& table);

}  // namespace mneme::hip
