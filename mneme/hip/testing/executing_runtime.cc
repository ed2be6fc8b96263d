// A HIP runtime for tests, which runs kernels: libamdhip64.so.5 with one AMD GPU that is the CPU device. Programs and the device
// "hip" use it as ROCm's.
//
// Its functions jump through a call table of its own, which copies of libmneme_hip.so and libmneme_emulation.so beside it fill.
// What these have not is here: virtual memory management, and Mneme's own kernels, which are run as host code. The machine code
// of this GPU is the CPU device's: a code object without kernels' IR is loaded if it is one of these. It is to be preloaded, with
// kernel_driver.c. With MNEME_TEST_HIP_NO_VIRTUAL_MEMORY it is as a ROCm before 6. With MNEME_TEST_HIP_CALLS it writes the names
// of calls that allocate, free, copy or launch to that file, in their order.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "mneme/abi/call_table.h"
#include "mneme/abi/hip_calls.inc"
#include "mneme/device/gpu/own_kernels_host.h"
#include "mneme/device/hip/hip_types.h"
#include "mneme/runtime/attach.h"
#include "mneme/runtime/code_object.h"

using namespace mneme::hip;

extern "C" {
__attribute__((visibility("hidden"))) mneme_function mneme_fake_slots[MNEME_HIP_CALL_COUNT];

// The exported functions.
#define MNEME_TRAMPOLINE(name)                                                                  \
  __attribute__((naked, visibility("default"))) void name() {                                   \
    asm("leaq mneme_fake_slots(%%rip), %%r11\n jmpq *%c0(%%r11)" ::"i"(8 * MNEME_CALL_##name)); \
  }
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreserved-identifier"
MNEME_HIP_CALLS(MNEME_TRAMPOLINE)
#pragma clang diagnostic pop
}

namespace {

std::recursive_mutex mutex;
mneme_function emulated[MNEME_HIP_CALL_COUNT];  // what the emulation has put into the slots

template <typename... A>
Error emulate(mneme_hip_call call, A... arguments) {
  return reinterpret_cast<Error (*)(A...)>(emulated[call])(arguments...);
}

uint64_t number_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Virtual memory management.
constexpr uint64_t kGranularity = 2 << 20;
std::map<uint64_t, uint64_t> reservations, created, mappings;
uint64_t next_handle = 1;
bool aligned(uint64_t value) { return value % kGranularity == 0; }

Error granularity(size_t* out, const AllocationProperties*, int) { return *out = kGranularity, 0; }
Error reserve(void** out, size_t size, size_t, void* wish, unsigned long long) {
  std::lock_guard lock(mutex);
  if (!aligned(size)) return kInvalidValue;
  void* given = ::mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (given == MAP_FAILED) return kOutOfMemory;
  reservations[number_of(*out = given)] = size;
  return 0;
}
Error unreserve(void* pointer, size_t size) {
  std::lock_guard lock(mutex);
  const auto found = reservations.find(number_of(pointer));
  if (found == reservations.end() || found->second != size) return kInvalidValue;
  reservations.erase(found);
  return ::munmap(pointer, size), 0;
}
Error create(MemoryHandle* memory, size_t size, const AllocationProperties*, unsigned long long) {
  std::lock_guard lock(mutex);
  if (!aligned(size)) return kInvalidValue;
  created[next_handle] = size;
  *memory = reinterpret_cast<MemoryHandle>(next_handle++);
  return 0;
}
Error release(MemoryHandle memory) {
  std::lock_guard lock(mutex);
  return created.erase(number_of(memory)) == 0 ? kInvalidValue : 0;
}
Error map(void* pointer, size_t size, size_t offset, MemoryHandle memory, unsigned long long) {
  std::lock_guard lock(mutex);
  if (!aligned(number_of(pointer)) || created[number_of(memory)] != size || offset != 0) return kInvalidValue;
  mappings[number_of(pointer)] = size;
  return 0;
}
Error unmap(void* pointer, size_t size) {
  std::lock_guard lock(mutex);
  if (mappings.erase(number_of(pointer)) == 0) return kInvalidValue;
  ::mmap(pointer, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return 0;
}
Error set_access(void* pointer, size_t size, const AccessDescription* access, size_t) {
  const int protection = access->flags == kAccessReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  return ::mprotect(pointer, size, access->flags == kAccessNone ? PROT_NONE : protection) == 0 ? 0 : kInvalidValue;
}

struct Dim3 {
  unsigned x, y, z;
};

// Host code, by the emulation's functions for libraries.
mneme_call_table* cuda_table = nullptr;
std::set<const void*> host_modules, host_functions;

template <typename... A>
Error emulate_cuda(mneme_call call, A... arguments) {
  return reinterpret_cast<Error (*)(A...)>(cuda_table->slots[call])(arguments...);
}
bool is_host_code(std::string_view text) {
  Elf64_Ehdr header;
  if (text.size() < sizeof header) return false;
  std::memcpy(&header, text.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_X86_64;
}
template <typename Handle>
Error add_host(std::set<const void*>& to, Error error, const Handle* made) {
  std::lock_guard lock(mutex);
  if (error == 0) to.insert(*made);
  return error;
}
bool is_host(const std::set<const void*>& handles, const void* handle) {
  std::lock_guard lock(mutex);
  return handles.contains(handle);
}
Error load_host_code(ModuleHandle* module, const void* image) {
  const auto load = [&] {
    return emulate_cuda<void*, const void*, void*, void*, unsigned, void*, void*, unsigned>(
        MNEME_CALL_cudaLibraryLoadData, module, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  return add_host(host_modules, load(), module);
}
Error launch_host_code(mneme_call how, const void* function, Dim3 grid, Dim3 block, unsigned shared, StreamHandle stream,
                       void** arguments) {
  return emulate_cuda<const void*, Dim3, Dim3, void**, size_t, void*>(how, function, grid, block, arguments, shared, stream);
}

// Mneme's own kernels.
std::set<ModuleHandle> own_modules;
std::map<FunctionHandle, std::string> own_functions;

Error load(ModuleHandle* module, const void* image) {
  const auto bytes = mneme::code_object_at(image);
  const std::string_view text = bytes.ok() ? std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
  if (text.find("mneme_hash_pages") == text.npos && text.find("mneme_elements_") == text.npos)
    return is_host_code(text) ? load_host_code(module, image) : emulate(MNEME_CALL_hipModuleLoadData, module, image);
  std::lock_guard lock(mutex);
  own_modules.insert(*module = reinterpret_cast<ModuleHandle>(new char));
  return 0;
}
Error unload(ModuleHandle module) {
  std::lock_guard lock(mutex);
  if (host_modules.erase(module) != 0) return emulate_cuda(MNEME_CALL_cudaLibraryUnload, module);
  return own_modules.erase(module) != 0 ? 0 : emulate(MNEME_CALL_hipModuleUnload, module);
}
Error find_function(FunctionHandle* function, ModuleHandle module, const char* name) {
  std::lock_guard lock(mutex);
  if (host_modules.contains(module))
    return add_host(host_functions, emulate_cuda(MNEME_CALL_cudaLibraryGetKernel, function, module, name), function);
  if (!own_modules.contains(module)) return emulate(MNEME_CALL_hipModuleGetFunction, function, module, name);
  *function = reinterpret_cast<FunctionHandle>(new char);
  own_functions[*function] = name;
  return 0;
}
Error find_global(void** address, size_t* size, ModuleHandle module, const char* name) {
  if (is_host(host_modules, module)) return emulate_cuda(MNEME_CALL_cudaLibraryGetGlobal, address, size, module, name);
  return emulate(MNEME_CALL_hipModuleGetGlobal, address, size, module, name);
}
Error function_attribute(int* value, int attribute, FunctionHandle function) {
  std::lock_guard lock(mutex);
  if (own_functions.contains(function)) return *value = attribute == 0 ? 256 : 16, 0;
  return emulate(MNEME_CALL_hipFuncGetAttribute, value, attribute, function);
}
Error occupancy(int* blocks, FunctionHandle function, int threads, size_t shared) {
  std::lock_guard lock(mutex);
  if (own_functions.contains(function)) return *blocks = 2, 0;
  return emulate(MNEME_CALL_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function, threads, shared);
}
Error launch(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
             unsigned block_z, unsigned shared, StreamHandle stream, void** arguments, void** packed) {
  std::unique_lock lock(mutex);
  if (host_functions.contains(function)) {
    lock.unlock();
    return launch_host_code(MNEME_CALL___cudaLaunchKernel, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                            shared, stream, arguments);
  }
  const auto own = own_functions.find(function);
  if (own == own_functions.end()) {
    lock.unlock();
    return emulate(MNEME_CALL_hipModuleLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                   arguments, packed);
  }
  if (Error error = emulate(MNEME_CALL_hipStreamSynchronize, stream); error != 0) return error;
  mneme::gpu::host::run_own_kernel(own->second, grid_x, block_x, arguments);
  return 0;
}

Error attribute(int* value, int attribute, int device) {
  if (attribute == static_cast<int>(Attribute::virtual_memory_management))
    return *value = ::secure_getenv("MNEME_TEST_HIP_NO_VIRTUAL_MEMORY") ? 0 : 1, 0;
  return emulate(MNEME_CALL_hipDeviceGetAttribute, value, attribute, device);
}

struct ChannelDescription {
  int x, y, z, w, kind;
};
ChannelDescription describe_channels(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

template <typename R, typename... A>
void set(mneme_hip_call call, R (*function)(A...)) {
  mneme_fake_slots[call] = reinterpret_cast<mneme_function>(function);
}

// Names of calls, for tests of their order.
int log_file() {
  static const char* const path = ::secure_getenv("MNEME_TEST_HIP_CALLS");
  static const int file = path ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  return file;
}
mneme_function logged_next[MNEME_HIP_CALL_COUNT];
extern "C" __attribute__((visibility("hidden"), used)) void mneme_fake_log(const char* name) {
  const std::string line = std::string(name) + "\n";
  (void)!::write(log_file(), line.data(), line.size());
}
template <mneme_hip_call kCall, typename... A>
struct Logged {
  static inline const char* name;
  static Error call(A... arguments) {
    mneme_fake_log(name);
    return reinterpret_cast<Error (*)(A...)>(logged_next[kCall])(arguments...);
  }
};
template <mneme_hip_call kCall, typename... A>
void log_calls(const char* name) {
  Logged<kCall, A...>::name = name;
  logged_next[kCall] = mneme_fake_slots[kCall];
  set(kCall, &Logged<kCall, A...>::call);
}

void log_some() {
#define MNEME_LOG(name, ...) log_calls<MNEME_CALL_##name, ##__VA_ARGS__>(#name)
  MNEME_LOG(hipMalloc, void**, size_t);
  MNEME_LOG(hipFree, void*);
  MNEME_LOG(hipHostMalloc, void**, size_t, unsigned);
  MNEME_LOG(hipHostRegister, void*, size_t, unsigned);
  MNEME_LOG(hipMallocManaged, void**, size_t, unsigned);
  MNEME_LOG(hipExtMallocWithFlags, void**, size_t, unsigned);
  MNEME_LOG(hipMemcpy, void*, const void*, size_t, int);
  MNEME_LOG(hipMemsetD32, void*, int, size_t);
  MNEME_LOG(hipModuleLoadData, void**, const void*);
  MNEME_LOG(hipLaunchKernel, const void*, Dim3, Dim3, void**, size_t, void*);
  MNEME_LOG(hipLaunchCooperativeKernel, const void*, Dim3, Dim3, void**, unsigned, void*);
  MNEME_LOG(hipMemAddressReserve, void**, size_t, size_t, void*, unsigned long long);
  MNEME_LOG(hipMemCreate, MemoryHandle*, size_t, const AllocationProperties*, unsigned long long);
#undef MNEME_LOG
}

mneme_function no_function[MNEME_HIP_CALL_COUNT];
mneme_call_table table{.abi_version = MNEME_ABI_VERSION,
                       .call_count = MNEME_HIP_CALL_COUNT,
                       .index = MNEME_MAX_TABLES - 1,
                       .device = MNEME_TABLE_HIP,
                       .slots = mneme_fake_slots,
                       .real = no_function,
                       .find_global = nullptr,
                       .calls_digest = MNEME_HIP_CALLS_DIGEST,
                       .object = "the HIP runtime of tests",
                       .annotate = nullptr};

// Of ROCm 5.5, and in the list of calls where that is of one.
extern "C" __attribute__((visibility("hidden"))) Error mneme_fake_launch_cooperatively(FunctionHandle function, unsigned grid_x,
                                                                                       unsigned grid_y, unsigned grid_z,
                                                                                       unsigned block_x, unsigned block_y,
                                                                                       unsigned block_z, unsigned shared,
                                                                                       StreamHandle stream, void** arguments) {
  if (!is_host(host_functions, function)) return kNotSupported;
  return launch_host_code(MNEME_CALL_cudaLaunchCooperativeKernel, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                          shared, stream, arguments);
}
void set_newer_functions() {
#define MNEME_SET_COOPERATIVE(name)                                  \
  if (std::string_view(#name) == "hipModuleLaunchCooperativeKernel") \
    mneme_fake_slots[MNEME_CALL_##name] = reinterpret_cast<mneme_function>(&mneme_fake_launch_cooperatively);
  MNEME_HIP_CALLS(MNEME_SET_COOPERATIVE)
#undef MNEME_SET_COOPERATIVE
}

// Texts, of which the emulation leaves the program's runtime to tell.
const char* error_name(Error error) { return error == 0 ? "hipSuccess" : "hipErrorOfTests"; }
const char* error_text(Error error) { return error == 0 ? "no error" : "an error of the HIP runtime of tests"; }

__attribute__((constructor)) void start() {
  Dl_info self;
  if (::dladdr(&table, &self) == 0) std::abort();
  const std::string path(self.dli_fname);
  void* emulation = ::dlopen((path.substr(0, path.rfind('/') + 1) + "libmneme_emulation.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* attach = emulation ? reinterpret_cast<mneme_attach_function>(::dlsym(emulation, MNEME_ATTACH_SYMBOL)) : nullptr;
  if (!attach || attach(&table) != 0) {
    std::fprintf(stderr, "the HIP runtime of tests: %s\n", ::dlerror());
    std::abort();
  }
  std::memcpy(emulated, mneme_fake_slots, sizeof emulated);
  void* const adapter = ::dlopen((path.substr(0, path.rfind('/') + 1) + mneme::kHipLibrary).c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* cuda_table_of = reinterpret_cast<mneme::CudaTableFunction>(adapter ? ::dlsym(adapter, mneme::kCudaTableSymbol) : nullptr);
  if (!cuda_table_of) std::abort();
  cuda_table = cuda_table_of(&table, static_cast<int>(mneme::CudaSlots::stood_before));
  set_newer_functions();
  set(MNEME_CALL_hipCreateChannelDesc, describe_channels);
  set(MNEME_CALL_hipGetErrorName, error_name);
  set(MNEME_CALL_hipGetErrorString, error_text);
  set(MNEME_CALL_hipDeviceGetAttribute, attribute);
  set(MNEME_CALL_hipMemGetAllocationGranularity, granularity);
  set(MNEME_CALL_hipMemAddressReserve, reserve);
  set(MNEME_CALL_hipMemAddressFree, unreserve);
  set(MNEME_CALL_hipMemCreate, create);
  set(MNEME_CALL_hipMemRelease, release);
  set(MNEME_CALL_hipMemMap, map);
  set(MNEME_CALL_hipMemUnmap, unmap);
  set(MNEME_CALL_hipMemSetAccess, set_access);
  set(MNEME_CALL_hipModuleLoadData, load);
  set(MNEME_CALL_hipModuleUnload, unload);
  set(MNEME_CALL_hipModuleGetFunction, find_function);
  set(MNEME_CALL_hipModuleGetGlobal, find_global);
  set(MNEME_CALL_hipModuleLaunchKernel, launch);
  set(MNEME_CALL_hipFuncGetAttribute, function_attribute);
  set(MNEME_CALL_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, occupancy);
  if (log_file() >= 0) log_some();
}

}  // namespace
