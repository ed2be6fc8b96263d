// What the program asks of the GPU, by the CUDA driver's API. launch.h says what is launched.
#pragma once

#include <cuda.h>

#include <vector>

#include "files.h"
#include "launch.h"

namespace gpu {

#define CHECK(call) gpu::check(call, #call)
inline void check(CUresult result, const char* call) {
  const char* words = "the driver does not know the error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorString(result, &words);
  fail(call, words);
}

using Address = CUdeviceptr;
using Event = CUevent;
inline const char kCodeFile[] = "kernel.cubin", kReserve[] = "cuMemAddressReserve";
inline CUdevice device;
inline CUmodule module;

inline void start() { CHECK(cuInit(0)); }
inline void open_device(int ordinal) {
  CUcontext context;
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
}

// Memory of the device at an address: first the address is reserved (which may give another one), then memory is mapped there.
inline Address reserve(const Range& range) {
  Address got = 0;
  CHECK(cuMemAddressReserve(&got, range.size, 0, range.address, 0));
  return got;
}
inline void map(const Span& span) {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  CUmemGenericAllocationHandle memory;
  CHECK(cuMemCreate(&memory, span.size, &kind, 0));
  CHECK(cuMemMap(span.address, span.size, 0, memory, 0));
  const CUmemAccessDesc access{kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK(cuMemSetAccess(span.address, span.size, &access, 1));
}
// Memory of the host, which the device reaches at the same address then.
inline void share(const Span& span) {
  constexpr unsigned kFlags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
  CHECK(cuMemHostRegister(reinterpret_cast<void*>(span.address), span.size, kFlags));
}
inline void copy_to_device(Address to, const void* from, size_t size) { CHECK(cuMemcpyHtoD(to, from, size)); }
inline void copy_to_host(void* to, Address from, size_t size) { CHECK(cuMemcpyDtoH(to, from, size)); }

inline CUfunction load(const std::string& file) {
  Content code = read_file(file);
  code.push_back(0);  // the end of PTX
  CUfunction kernel;
  CHECK(cuModuleLoadData(&module, code.data()));
  CHECK(cuModuleGetFunction(&kernel, module, kernel_name));
  // More than this has to be asked for, as have clusters of more blocks than any device can run.
  if (shared_memory > 48 * 1024)
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_memory));
  if (cluster[0] * cluster[1] * cluster[2] > 8)
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  return kernel;
}
// Where a variable of the loaded code is. false: the code lacks it.
inline bool find(const char* variable, Address* place, size_t* size) {
  const CUresult result = cuModuleGetGlobal(place, size, module, variable);
  if (result == CUDA_ERROR_NOT_FOUND) return false;
  check(result, variable);
  return true;
}

inline void launch(CUfunction kernel) {
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  if (cooperative) {
    attributes.emplace_back().id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes.back().value.cooperative = 1;
  }
  if (cluster[0] * cluster[1] * cluster[2] > 1) {
    attributes.emplace_back().id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes.back().value.clusterDim = {cluster[0], cluster[1], cluster[2]};
  }
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.sharedMemBytes = shared_memory;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  CHECK(cuLaunchKernelEx(&config, kernel, arguments, nullptr));
}
inline void wait() { CHECK(cuCtxSynchronize()); }

inline Event make_event() {
  Event event;
  CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  return event;
}
inline void record(Event event) { CHECK(cuEventRecord(event, nullptr)); }
inline float milliseconds(Event begin, Event end) {
  float time = 0;
  CHECK(cuEventElapsedTime(&time, begin, end));
  return time;
}

}  // namespace gpu
