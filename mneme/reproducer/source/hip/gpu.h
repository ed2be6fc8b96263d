// What the program asks of the GPU, by HIP's runtime. launch.h says what is launched.
#pragma once

#include <hip/hip_runtime_api.h>

#include "files.h"
#include "launch.h"

namespace gpu {

#define CHECK(call) gpu::check(call, #call)
inline void check(hipError_t result, const char* call) {
  if (result != hipSuccess) fail(call, hipGetErrorString(result));
}

using Address = unsigned long long;
using Event = hipEvent_t;
inline const char kCodeFile[] = "kernel.hsaco", kReserve[] = "hipMemAddressReserve";
inline int device;
inline hipModule_t module;
inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }

inline void start() { CHECK(hipInit(0)); }
inline void open_device(int ordinal) {
  CHECK(hipDeviceGet(&device, ordinal));
  CHECK(hipSetDevice(device));
}

// Memory of the device at an address: first the address is reserved (which may give another one), then memory is mapped there.
inline Address reserve(const Range& range) {
  void* got = nullptr;
  CHECK(hipMemAddressReserve(&got, range.size, 0, pointer(range.address), 0));
  return reinterpret_cast<Address>(got);
}
inline void map(const Span& span) {
  hipMemAllocationProp kind{};
  kind.type = hipMemAllocationTypePinned;
  kind.location.type = hipMemLocationTypeDevice;
  kind.location.id = device;
  hipMemGenericAllocationHandle_t memory;
  CHECK(hipMemCreate(&memory, span.size, &kind, 0));
  CHECK(hipMemMap(pointer(span.address), span.size, 0, memory, 0));
  hipMemAccessDesc access{};
  access.location = kind.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  CHECK(hipMemSetAccess(pointer(span.address), span.size, &access, 1));
}
// Memory of the host, which the device must reach at the same address then.
inline void share(const Span& span) {
  void* seen = nullptr;
  CHECK(hipHostRegister(pointer(span.address), span.size, hipHostRegisterMapped | hipHostRegisterPortable));
  CHECK(hipHostGetDevicePointer(&seen, pointer(span.address), 0));
  if (seen != pointer(span.address)) fail("hipHostGetDevicePointer", "the device reaches this memory at another address");
}
inline void copy_to_device(Address to, const void* from, size_t size) {
  CHECK(hipMemcpy(pointer(to), from, size, hipMemcpyHostToDevice));
}
inline void copy_to_host(void* to, Address from, size_t size) {
  CHECK(hipMemcpy(to, pointer(from), size, hipMemcpyDeviceToHost));
}

inline hipFunction_t load(const std::string& file) {
  const Content code = read_file(file);
  hipFunction_t kernel;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&kernel, module, kernel_name));
  return kernel;
}
// Where a variable of the loaded code is. false: the code lacks it.
inline bool find(const char* variable, Address* place, size_t* size) {
  hipDeviceptr_t found{};
  const hipError_t result = hipModuleGetGlobal(&found, size, module, variable);
  if (result == hipErrorNotFound) return false;
  check(result, variable);
  *place = reinterpret_cast<Address>(found);
  return true;
}

inline void launch(hipFunction_t kernel) {
  if (!cooperative) {
    CHECK(hipModuleLaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_memory, nullptr,
                                arguments, nullptr));
    return;
  }
#if HIP_VERSION >= 50500000
  CHECK(hipModuleLaunchCooperativeKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_memory, nullptr,
                                         arguments));
#else
  fail("the launch is cooperative", "compile this with ROCm 5.5 or newer");
#endif
}
inline void wait() { CHECK(hipDeviceSynchronize()); }

inline Event make_event() {
  Event event;
  CHECK(hipEventCreateWithFlags(&event, hipEventDefault));
  return event;
}
inline void record(Event event) { CHECK(hipEventRecord(event, nullptr)); }
inline float milliseconds(Event begin, Event end) {
  float time = 0;
  CHECK(hipEventElapsedTime(&time, begin, end));
  return time;
}

}  // namespace gpu
