// What programs call of the fake driver, and Mneme itself does not: the tests of recording at the driver run programs on it.
//
// Every image has a kernel "add_one" with two parameters, an address and a count: it adds one to each of so many 32-bit words.
// Any other kernel has the same parameters and does nothing. The environment scripts it: MNEME_FAKE_ELSEWHERE_FROM is
// `elsewhere_from`, MNEME_FAKE_TAKES_AT `takes_at`, MNEME_FAKE_FREE_MEMORY what cuMemGetInfo() says, MNEME_FAKE_SHARES_MANAGED
// whether host and device may reach managed memory at once, MNEME_FAKE_MANAGED_VARIABLE the size of a managed variable
// "increment", MNEME_FAKE_MEMORY how much memory there is. MNEME_FAKE_FAIL is a function, how many good calls of it there are,
// and what the next one returns: "cuMemMap:2:999". A kernel "calls_back" calls what mneme_fake_on_launch() was given.
// mneme_fake_locks() tells calls: what it gives grows with each.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "mneme/device/cuda/fake_driver.h"

namespace {

mneme::cuda::CountedMutex<std::mutex> mutex;
std::map<const void*, std::string> kernels;  // of libraries: by their handles
// What a kernel of a library is in a context, by the kernel and the context; and the other way round.
using InContext = std::pair<CUkernel, std::pair<CUcontext, int>>;
std::map<InContext, CUfunction> functions;
std::map<CUfunction, InContext> kernels_of_functions;
std::map<CUdeviceptr, size_t> sizes;  // of what this file allocates
std::map<CUdeviceptr, CUmemoryPool> pools_of_memory;
uint64_t next_handle = 0x1000;
void (*on_launch)() = nullptr;
std::map<CUdevice, CUmemoryPool> current_pools;  // of devices that do not use their own one

// The variable is read here, and not only looked up.
unsigned char table[24];

// The variable of managed memory; null: no image has one.
const std::vector<std::byte>* managed() {
  const auto& globals = mneme::cuda::fake_state().globals;
  const auto found = globals.find("increment");
  return found == globals.end() ? nullptr : &found->second;
}

template <typename Handle>
Handle make_handle() {
  std::lock_guard lock(mutex);
  return reinterpret_cast<Handle>(next_handle += 16);
}

// Of deployed code: the addresses of the program's variables (mneme/abi/deployed_code.h).
constexpr const char* kVariableTable = "__mneme_variables";

// By how much add_one counts: in code with a table of variables that has been written, by what the first of them holds.
unsigned increment() {
  const auto& globals = mneme::cuda::fake_state().globals;
  const auto table = globals.find(kVariableTable);
  uint64_t variable = 0;
  if (table != globals.end()) std::memcpy(&variable, table->second.data(), sizeof variable);
  return variable == 0 ? 1 : *reinterpret_cast<const unsigned*>(variable);
}

CUresult run(const std::string& kernel, CUdeviceptr address, unsigned count) {
  if (kernel == "calls_back" && on_launch) on_launch();
  if (kernel != "add_one") return CUDA_SUCCESS;
  if (!mneme::cuda::fake_reaches(address)) return CUDA_ERROR_ILLEGAL_ADDRESS;
  auto* words = reinterpret_cast<unsigned*>(address);
  for (unsigned i = 0; i < count; ++i) words[i] += increment();
  return CUDA_SUCCESS;
}

const bool prepared = [] {
  mneme::cuda::FakeDriverState& state = mneme::cuda::fake_state();
  state.table_address = reinterpret_cast<uint64_t>(table);
  state.elsewhere_below = 32 << 20;
  if (const char* from = std::getenv("MNEME_FAKE_ELSEWHERE_FROM")) state.elsewhere_from = std::strtoull(from, nullptr, 0);
  if (const char* fail = std::getenv("MNEME_FAKE_FAIL")) {
    char function[64] = "";
    int result = 0;
    if (std::sscanf(fail, "%63[^:]:%d:%d", function, &state.fail_after, &result) == 3) state.fail_function = function;
    state.fail_result = static_cast<CUresult>(result);
  }
  if (const char* at = std::getenv("MNEME_FAKE_TAKES_AT")) state.takes_at = std::strtoull(at, nullptr, 0);
  if (const char* value = std::getenv("MNEME_FAKE_SHARES_MANAGED"))
    state.attributes[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = std::atoi(value);
  if (const char* value = std::getenv("MNEME_FAKE_REACHES_PAGEABLE"))
    state.attributes[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = std::atoi(value);
  if (const char* size = std::getenv("MNEME_FAKE_MANAGED_VARIABLE")) state.globals["increment"].resize(std::atoi(size));
  if (const char* variables = std::getenv("MNEME_FAKE_VARIABLE_TABLE"))
    state.globals[kVariableTable].resize(8 * std::atoi(variables));
  // A replay's way to launch.
  state.kernels["add_one"] = [](const mneme::cuda::FakeLaunch& launch) {
    CUdeviceptr address = 0;
    unsigned count = 0;
    std::memcpy(&address, launch.parameters.data(), sizeof address);
    std::memcpy(&count, launch.parameters.data() + 8, sizeof count);
    run("add_one", address, count);
  };
  return true;
}();

CUresult allocate(CUdeviceptr* out, size_t size) {
  *out = reinterpret_cast<CUdeviceptr>(std::calloc(1, size));
  std::lock_guard lock(mutex);
  sizes[*out] = size;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void allocated_from(CUmemoryPool pool, CUdeviceptr address) {
  std::lock_guard lock(mutex);
  pools_of_memory[address] = pool;
}

}  // namespace

namespace mneme::cuda {
// The kernel that a function of a module (fake_driver.cc) stands for; empty for any other handle.
std::string fake_function_name(CUfunction function);
CUresult fake_parameter_info(const std::string& kernel, size_t index, size_t* offset, size_t* size);
}  // namespace mneme::cuda

extern "C" {

void mneme_fake_on_launch(void (*callback)()) { on_launch = callback; }
uint64_t mneme_fake_locks() { return mneme::cuda::fake_locks; }
void mneme_fake_idle() { mneme::cuda::fake_state().idle = true; }

CUresult cuCtxSynchronize() {
  mneme::cuda::fake_wait_for_hosts();
  return mneme::cuda::fake_enter(__func__);
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = reinterpret_cast<CUmemoryPool>(static_cast<uintptr_t>(0x100 + device));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  std::lock_guard lock(mutex);
  auto found = current_pools.find(device);
  return found == current_pools.end() ? cuDeviceGetDefaultMemPool(pool, device) : (*pool = found->second, CUDA_SUCCESS);
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  std::lock_guard lock(mutex);
  current_pools[device] = pool;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) { return *pool = make_handle<CUmemoryPool>(), CUDA_SUCCESS; }
CUresult cuMemPoolDestroy(CUmemoryPool) { return CUDA_SUCCESS; }
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
CUresult cuCtxDisablePeerAccess(CUcontext) { return CUDA_SUCCESS; }
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr address) {
  return address == 0 || mneme::cuda::fake_is_mapped(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
// Of handles that this driver has made none is opened: they hold nothing.
#undef cuIpcOpenMemHandle
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned) {
  return mneme::cuda::fake_context().first ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr) {
  return mneme::cuda::fake_context().first ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  CUcontext before = nullptr;
  cuCtxPopCurrent(&before);
  return context ? cuCtxPushCurrent(context) : CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
// By the name that it has in headers of CUDA 13 and later.
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 0.25;
  return mneme::cuda::fake_enter("cuEventElapsedTime");
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  *library = make_handle<CUlibrary>();
  return mneme::cuda::fake_enter(__func__);
}
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  if (std::strcmp(name, "missing") == 0) return CUDA_ERROR_NOT_FOUND;
  *kernel = make_handle<CUkernel>();
  std::lock_guard lock(mutex);
  kernels[*kernel] = name;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* size, CUlibrary, const char* name) {
  return std::strcmp(name, "increment") == 0 ? cuModuleGetGlobal(address, size, nullptr, name) : CUDA_ERROR_NOT_FOUND;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* size, CUlibrary, const char* name) {
  if (std::strcmp(name, "increment") == 0) return CUDA_ERROR_NOT_FOUND;  // cuLibraryGetManaged() finds it
  return cuModuleGetGlobal(address, size, nullptr, name);
}
// Of each library: one kernel, add_one.
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary) { return *count = 1, CUDA_SUCCESS; }
CUresult cuLibraryEnumerateKernels(CUkernel* found, unsigned count, CUlibrary library) {
  return count == 0 ? CUDA_SUCCESS : cuLibraryGetKernel(found, library, "add_one");
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  std::lock_guard lock(mutex);
  const auto found = kernels.find(kernel);
  if (found == kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
  return *name = found->second.c_str(), CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary) { return cuModuleLoadDataEx(module, nullptr, 0, nullptr, nullptr); }
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule) { return *count = 1, CUDA_SUCCESS; }
CUresult cuModuleEnumerateFunctions(CUfunction* found, unsigned count, CUmodule module) {
  return count == 0 ? CUDA_SUCCESS : cuModuleGetFunction(found, module, "add_one");
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  static std::string last;
  last = mneme::cuda::fake_function_name(function);
  return *name = last.c_str(), last.empty() ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const InContext key{kernel, mneme::cuda::fake_context()};
  const auto made = make_handle<CUfunction>();
  std::lock_guard lock(mutex);
  *function = functions.emplace(key, made).first->second;
  kernels_of_functions[*function] = key;
  return CUDA_SUCCESS;
}
#undef cuMemGetInfo
CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
  const char* set = std::getenv("MNEME_FAKE_FREE_MEMORY");
  *total = mneme::cuda::fake_memory();
  return *available = set ? std::strtoull(set, nullptr, 0) : mneme::cuda::fake_free_memory(), CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(context);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  std::lock_guard lock(mutex);
  return mneme::cuda::fake_parameter_info(kernels[kernel], index, offset, size);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra) {
  if (mneme::cuda::fake_state().idle) return CUDA_SUCCESS;
  if (CUresult result = mneme::cuda::fake_enter(__func__); result != CUDA_SUCCESS) return result;
  const CUDA_KERNEL_NODE_PARAMS node{function, grid_x, grid_y,     grid_z, block_x, block_y,
                                     block_z,  shared, parameters, extra,  nullptr, nullptr};
  if (mneme::cuda::fake_capture_kernel(stream, node)) return CUDA_SUCCESS;
  std::string name = mneme::cuda::fake_function_name(function);
  if (name.empty()) {
    const auto context = mneme::cuda::fake_context();
    std::lock_guard lock(mutex);
    const auto found = kernels_of_functions.find(function);
    if (found != kernels_of_functions.end() && found->second.second != context) return CUDA_ERROR_INVALID_HANDLE;
    name = kernels[found != kernels_of_functions.end() ? static_cast<const void*>(found->second.first) : function];
  }
  CUdeviceptr address = 0;
  unsigned count = 0;
  const char* packed = extra ? static_cast<const char*>(extra[1]) : nullptr;
  std::memcpy(&address, packed ? packed : parameters[0], sizeof address);
  std::memcpy(&count, packed ? packed + 8 : parameters[1], sizeof count);
  return run(name, address, count);
}
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned s,
                             CUstream stream, void** parameters, void** extra) {
  return cuLaunchKernel(f, a, b, c, d, e, g, s, stream, parameters, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
                                   unsigned s, CUstream stream, void** parameters) {
  return cuLaunchKernel(f, a, b, c, d, e, g, s, stream, parameters, nullptr);
}
CUresult cuLaunchGrid(CUfunction, int, int) { return CUDA_SUCCESS; }

#undef cuMemAllocPitch
CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc(out, *pitch * height);
}
CUresult cuMemAllocAsync(CUdeviceptr* out, size_t size, CUstream stream) {
  const CUresult code = allocate(out, size);
  if (code != CUDA_SUCCESS) return code;
  mneme::cuda::fake_capture_memory(stream, *out, size);
  CUmemoryPool pool = nullptr;
  CUdevice device = 0;
  if (cuCtxGetDevice(&device) == CUDA_SUCCESS && cuDeviceGetMemPool(&pool, device) == CUDA_SUCCESS) allocated_from(pool, *out);
  return code;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t size, CUmemoryPool pool, CUstream) {
  const CUresult code = allocate(out, size);
  if (code == CUDA_SUCCESS) allocated_from(pool, *out);
  return code;
}
CUresult cuMemFreeAsync(CUdeviceptr, CUstream) { return CUDA_SUCCESS; }
#undef cuMemGetAddressRange
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  {
    std::lock_guard lock(mutex);
    const auto behind = sizes.upper_bound(pointer);
    if (behind != sizes.begin() && pointer < std::prev(behind)->first + std::prev(behind)->second)
      return *base = std::prev(behind)->first, *size = std::prev(behind)->second, CUDA_SUCCESS;
  }
  if (!mneme::cuda::fake_is_mapped(pointer) && mneme::cuda::fake_allocation(pointer, base, size)) return CUDA_SUCCESS;
  *base = pointer / mneme::cuda::kFakeGranularity * mneme::cuda::kFakeGranularity;
  *size = mneme::cuda::kFakeGranularity;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE) *static_cast<size_t*>(value) = mneme::cuda::kFakeGranularity;
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) *static_cast<CUdeviceptr*>(value) = pointer;
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
    *static_cast<CUdeviceptr*>(value) = pointer / mneme::cuda::kFakeGranularity * mneme::cuda::kFakeGranularity;
  if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT) *static_cast<CUcontext*>(value) = mneme::cuda::fake_context_of(pointer);
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int*>(value) = 0;
  if (attribute == CU_POINTER_ATTRIBUTE_MAPPED) *static_cast<unsigned*>(value) = 1;
  // Memory that is mapped is shared by descriptors alone.
  if (attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    *static_cast<unsigned*>(value) = !mneme::cuda::fake_is_mapped(pointer);
  if (attribute == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES)
    *static_cast<uint64_t*>(value) = mneme::cuda::fake_is_mapped(pointer) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) {
    std::lock_guard lock(mutex);
    *static_cast<CUmemoryPool*>(value) = nullptr;
    if (const auto in = pools_of_memory.find(pointer); in != pools_of_memory.end())
      *static_cast<CUmemoryPool*>(value) = in->second;
  }
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE;
    CUdeviceptr base = 0;
    size_t size = 0;
    std::lock_guard lock(mutex);
    const auto behind = sizes.upper_bound(pointer);
    const bool own = behind != sizes.begin() && pointer < std::prev(behind)->first + std::prev(behind)->second;
    return own || mneme::cuda::fake_is_mapped(pointer) || mneme::cuda::fake_allocation(pointer, &base, &size)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
    *static_cast<unsigned*>(value) = managed() && pointer == reinterpret_cast<CUdeviceptr>(managed()->data());
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr pointer) {
  for (unsigned i = 0; i < count; ++i)
    if (CUresult code = cuPointerGetAttribute(values[i], attributes[i], pointer); code != CUDA_SUCCESS) return code;
  return CUDA_SUCCESS;
}

#undef cuStreamWriteValue32
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value), CUDA_SUCCESS;
}

#undef cuMemcpyHtoD
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) { return cuMemcpyHtoDAsync(to, from, size, nullptr); }
#undef cuMemcpyDtoH
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) { return cuMemcpyDtoHAsync(to, from, size, nullptr); }

#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* status) {
  static const std::map<std::string, const char*> newest = {{"cuMemAlloc", "cuMemAlloc_v2"},
                                                            {"cuMemFree", "cuMemFree_v2"},
                                                            {"cuMemcpyHtoD", "cuMemcpyHtoD_v2"},
                                                            {"cuMemcpyDtoH", "cuMemcpyDtoH_v2"},
                                                            {"cuGetProcAddress", "cuGetProcAddress_v2"}};
  const auto known = newest.find(symbol);
  Dl_info self{};
  dladdr(table, &self);
  void* library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  // By the loader's own search, as the real driver answers from a table of its own.
  using Dlsym = void* (*)(void*, const char*);
  static const auto find = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  *function = find(library, known == newest.end() ? symbol : known->second);
  dlclose(library);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
