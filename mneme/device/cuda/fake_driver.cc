#include "mneme/device/cuda/fake_driver.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "mneme/device/gpu/own_kernels_host.h"

using mneme::cuda::FakeDriverState;
using mneme::cuda::kFakeGranularity;

namespace {

FakeDriverState state;
mneme::cuda::CountedMutex<std::recursive_mutex> mutex;
thread_local std::vector<CUcontext>& stack = *new std::vector<CUcontext>;  // there for what a program does when it ends, too
std::map<uint64_t, uint64_t> reservations, mappings, created, managed;
std::map<uint64_t, int> shared;  // handle → descriptor
std::set<uint64_t> imported;     // handles that came by a descriptor
std::set<uint64_t> mapped_handles;
struct Mapped {
  uint64_t handle = 0;
  int protection = PROT_NONE;
};
std::map<uint64_t, Mapped> mapped_at;  // by address
std::map<CUdeviceptr, CUcontext> allocations;
std::map<CUdeviceptr, size_t> allocation_sizes;
std::map<uint64_t, std::set<CUdevice>> readers;  // of mappings: devices that reach them
std::map<CUfunction, std::string> functions;
uint64_t next_handle = 1;

// Copies that are still to be done, and what each event waits for.
std::deque<std::function<void()>> late;
uint64_t late_done = 0;
std::map<CUevent, uint64_t> recorded;

// A device's primary context, or one that the program has made. A destroyed one stays, since its handle is not given again.
struct FakeContext {
  CUdevice device = 0;
  CUgreenCtx green = nullptr;
};
std::deque<FakeContext> contexts;
std::set<CUcontext> destroyed;
std::map<CUcontext, int> attachments;  // beyond the first one
std::map<CUdevice, CUcontext> primaries;
std::map<CUcontext, int> resets;
std::map<CUstream, CUcontext> streams;
std::set<CUstream> gone_streams;

CUcontext make_context(CUdevice device, CUgreenCtx green = nullptr) {
  return reinterpret_cast<CUcontext>(&contexts.emplace_back(FakeContext{device, green}));
}
FakeContext& object_of(CUcontext context) { return *reinterpret_cast<FakeContext*>(context); }
CUcontext current_context() { return stack.empty() ? nullptr : stack.back(); }

// Several devices are there for programs that are told so.
int device_count() {
  const char* count = getenv("MNEME_FAKE_DEVICES");
  return count ? atoi(count) : 1;
}

// Of the devices behind the first one.
int other_major() {
  const char* major = getenv("MNEME_FAKE_OTHER_MAJOR");
  return major ? atoi(major) : 9;
}

char module_objects[1 << 16], stream_objects[1 << 16];
size_t next_module = 0;
std::map<CUdevice, int> primary_uses;

// Every function begins with this: the scripted failure, then the fault that stays.
CUresult enter(const char* function) {
  std::lock_guard lock(mutex);
  if (state.fail_function == function && state.fail_after-- == 0) {
    state.fail_function.clear();
    return state.fail_result;
  }
  return state.fault;
}
#define ENTER()                \
  std::lock_guard lock(mutex); \
  if (CUresult result = enter(__func__); result != CUDA_SUCCESS) return result
#define NEED_CONTEXT() \
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT

void do_late(uint64_t until = UINT64_MAX) {
  for (; late_done < until && !late.empty(); ++late_done) {
    late.front()();
    late.pop_front();
  }
}
void copy(void* to, const void* from, size_t size) {
  {
    std::lock_guard lock(mutex);
    if (state.late_copies) {
      late.push_back([=] { memcpy(to, from, size); });
      return;
    }
    do_late();
  }
  memcpy(to, from, size);
}

// A forked child has no device: what it writes is not the parent's.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
  for (const auto& [address, mapped] : mapped_at)
    if (const auto memory = shared.find(mapped.handle); memory != shared.end())
      mmap(reinterpret_cast<void*>(address), mappings[address], mapped.protection, MAP_PRIVATE | MAP_FIXED, memory->second, 0);
});

bool aligned(uint64_t value) { return value % kFakeGranularity == 0; }

}  // namespace

namespace mneme::cuda {
CUresult fake_enter(const char* function) { return enter(function); }
FakeDriverState& fake_state() { return state; }
std::pair<CUcontext, int> fake_context() {
  std::lock_guard lock(mutex);
  return {current_context(), resets[current_context()]};
}
size_t fake_memory() {
  const char* memory = getenv("MNEME_FAKE_MEMORY");
  return memory ? strtoull(memory, nullptr, 0) : size_t{1} << 36;
}
size_t fake_free_memory() {
  std::lock_guard lock(mutex);
  size_t used = 0;
  const auto take = [&](size_t size) { used += (size + kFakeGranularity - 1) / kFakeGranularity * kFakeGranularity; };
  for (const auto& [handle, size] : created)
    if (!mapped_handles.contains(handle)) take(size);
  for (const auto& [_, size] : mappings) take(size);
  for (const auto& [address, _] : allocations) take(allocation_sizes[address]);
  return fake_memory() > used ? fake_memory() - used : 0;
}
bool fake_reaches(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  auto mapping = mappings.upper_bound(address);
  if (mapping == mappings.begin() || address >= (--mapping)->first + mapping->second) return true;
  CUdevice device = -1;
  return cuCtxGetDevice(&device) == CUDA_SUCCESS && readers[mapping->first].contains(device);
}
bool fake_is_mapped(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  auto mapping = mappings.upper_bound(address);
  return mapping != mappings.begin() && address < (--mapping)->first + mapping->second;
}
bool fake_allocation(CUdeviceptr address, CUdeviceptr* base, size_t* size) {
  std::lock_guard lock(mutex);
  if (auto behind = managed.upper_bound(address); behind != managed.begin()) {
    const auto& [begin, bytes] = *std::prev(behind);
    if (address - begin < bytes) return *base = begin, *size = bytes, true;
  }
  const auto behind = allocations.upper_bound(address);
  if (behind == allocations.begin()) return false;
  *base = std::prev(behind)->first;
  *size = allocation_sizes[*base];
  return address - *base < *size;
}
CUcontext fake_context_of(CUdeviceptr address) {
  CUdeviceptr base = 0;
  size_t size = 0;
  std::lock_guard lock(mutex);
  if (!fake_allocation(address, &base, &size)) return nullptr;
  const auto found = allocations.find(base);
  return found == allocations.end() ? nullptr : found->second;
}
std::string fake_function_name(CUfunction function) {
  std::lock_guard lock(mutex);
  const auto found = functions.find(function);
  return found == functions.end() ? std::string() : found->second;
}
CUresult fake_parameter_info(const std::string& kernel, size_t index, size_t* offset, size_t* size) {
  static const std::vector<std::pair<size_t, size_t>> usual = {{0, 8}, {8, 4}};  // an address and a count
  const auto found = state.parameters.find(kernel);
  const auto& places = found == state.parameters.end() ? usual : found->second;
  if (index >= places.size()) return CUDA_ERROR_INVALID_VALUE;
  std::tie(*offset, *size) = places[index];
  return CUDA_SUCCESS;
}
}  // namespace mneme::cuda

extern "C" {

FakeDriverState* mneme_fake_driver_state() { return &state; }

CUresult cuGetErrorName(CUresult error, const char** name) {
  static const std::map<int, const char*> names = {{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                                                   {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                                                   {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                                                   {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"}};
  auto found = names.find(error);
  if (found == names.end()) return CUDA_ERROR_INVALID_VALUE;
  *name = found->second;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** words) {
  *words = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "words of the driver";
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) {
  ENTER();
  if (!std::exchange(state.initialised, true)) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      char* end = nullptr;
      const uint64_t begin = std::strtoull(line.c_str(), &end, 16);
      state.mapped_at_start.emplace_back(begin, std::strtoull(end + 1, nullptr, 16));
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  ENTER();
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  ENTER();
  *count = device_count();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER();
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  ENTER();
  strncpy(name, "Fake GPU", size);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  ENTER();
  *bytes = size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* address, int size, CUdevice) {
  ENTER();
  strncpy(address, "0000:1b:00.0", size);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ENTER();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = device == 0 ? 9 : other_major(); break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 2; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = 1; break;
    default: *value = 1024; break;
  }
  const auto& unusual = state.attributes;
  if (auto found = unusual.find(attribute); found != unusual.end()) *value = found->second;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER();
  if (device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
  ++state.contexts;
  // A hint alone, as a driver's own memory lies where the system has room.
  if (const uint64_t place = std::exchange(state.takes_at, 0))
    mmap(reinterpret_cast<void*>(place), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto& primary = primaries[device];
  if (!primary) primary = make_context(device);
  ++primary_uses[device];
  *context = primary;
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned, CUdevice device) {
  ENTER();
  if (device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
  stack.push_back(*context = make_context(device));
  return CUDA_SUCCESS;
}
#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v3(context, nullptr, 0, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return cuCtxCreate_v3(context, nullptr, 0, flags, device);
}
#undef cuCtxDestroy
CUresult cuCtxDestroy_v2(CUcontext context) {
  ENTER();
  destroyed.insert(context);
  if (current_context() == context) stack.pop_back();
  std::erase_if(allocations, [&](const auto& one) { return one.second == context; });
  return CUDA_SUCCESS;
}
CUresult cuCtxAttach(CUcontext* context, unsigned) {
  ENTER();
  ++attachments[*context = current_context()];
  return CUDA_SUCCESS;
}
CUresult cuCtxDetach(CUcontext context) {
  {
    ENTER();
    if (context != current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (attachments[context]-- > 0) return CUDA_SUCCESS;
  }
  return cuCtxDestroy_v2(context);
}
CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc, CUdevice device, unsigned) {
  ENTER();
  *green = reinterpret_cast<CUgreenCtx>(static_cast<uintptr_t>(0x9000 + device));
  return CUDA_SUCCESS;
}
CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  ENTER();
  *context = make_context(static_cast<CUdevice>(reinterpret_cast<uintptr_t>(green) - 0x9000), green);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  ENTER();
  const auto found = streams.find(stream);
  *context = found == streams.end() ? current_context() : found->second;
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* green) {
  CUcontext context = nullptr;
  if (CUresult code = cuStreamGetCtx(stream, &context); code != CUDA_SUCCESS) return code;
  *green = object_of(context).green;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  std::lock_guard lock(mutex);
  *flags = 0;
  *active = primary_uses[device] > 0;
  return CUDA_SUCCESS;
}
// As on a device of Hopper's; what is set is given exactly.
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  ENTER();
  NEED_CONTEXT();
  if (limit != CU_LIMIT_STACK_SIZE && limit != CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const auto set = state.limits.find(limit);
  *value = set != state.limits.end() ? set->second : limit == CU_LIMIT_STACK_SIZE ? 1024 : 2048;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  ENTER();
  NEED_CONTEXT();
  state.limits[limit] = value;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  std::lock_guard lock(mutex);
  NEED_CONTEXT();
  *device = object_of(stack.back()).device;
  return CUDA_SUCCESS;
}
// Its memory and its streams go with it; the handle stays.
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  std::lock_guard lock(mutex);
  ++resets[primaries[device]];
  std::erase_if(allocations, [&](const auto& one) { return one.second == primaries[device]; });
  for (const auto& [stream, context] : streams)
    if (context == primaries[device]) gone_streams.insert(stream);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  std::lock_guard lock(mutex);
  --state.contexts;
  if (--primary_uses[device] == 0) cuDevicePrimaryCtxReset(device);
  return CUDA_SUCCESS;
}
// Making a context current works in a poisoned one, too.
CUresult cuCtxGetCurrent(CUcontext* context) {
  std::lock_guard lock(mutex);
  state.current = *context = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  std::lock_guard lock(mutex);
  if (destroyed.contains(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  NEED_CONTEXT();
  *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned count, CUjit_option* options, void** values) {
  std::lock_guard lock(mutex);
  NEED_CONTEXT();
  CUresult result = enter(__func__);
  if (result != CUDA_SUCCESS) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) strcpy(static_cast<char*>(values[i]), state.jit_log.c_str());
    }
    return result;
  }
  state.jit_options.clear();
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] != CU_JIT_ERROR_LOG_BUFFER && options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      state.jit_options[options[i]] = reinterpret_cast<uint64_t>(values[i]);
  }
  ++state.modules;
  *module = reinterpret_cast<CUmodule>(module_objects + next_module++);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) {
  ENTER();
  NEED_CONTEXT();
  --state.modules;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  ENTER();
  NEED_CONTEXT();
  if (strcmp(name, "missing") == 0) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(functions.size() + 1);
  functions[*function] = name;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  ENTER();
  const auto found = functions.find(function);
  if (found == functions.end()) return CUDA_ERROR_INVALID_HANDLE;  // a CUkernel
  return mneme::cuda::fake_parameter_info(found->second, index, offset, size);
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* size, CUmodule, const char* name) {
  ENTER();
  NEED_CONTEXT();
  if (auto global = state.globals.find(name); global != state.globals.end()) {
    *address = reinterpret_cast<CUdeviceptr>(global->second.data());
    *size = global->second.size();
    return CUDA_SUCCESS;
  }
  if (strcmp(name, "table") != 0) return CUDA_ERROR_NOT_FOUND;
  *address = state.table_address;
  *size = 24;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  ENTER();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 37; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 16; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 8; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = state.static_shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 512; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = 49152 - state.static_shared_bytes; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  ENTER();
  NEED_CONTEXT();
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    state.large_clusters += value;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value + state.static_shared_bytes > 232448)
    return CUDA_ERROR_INVALID_VALUE;
  state.dynamic_shared_limit = value;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t shared_bytes) {
  ENTER();
  state.occupancy_threads = threads;
  state.occupancy_shared_bytes = shared_bytes;
  *blocks = 3;
  return CUDA_SUCCESS;
}
// Of the driver for programs (fake_driver_programs.cc): the tests of the device have none.
[[gnu::weak]] CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                                      void**, void**);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  ENTER();
  NEED_CONTEXT();
  if (gone_streams.contains(config->hStream)) return CUDA_ERROR_INVALID_HANDLE;
  do_late();
  ++state.operations;
  if (!functions.contains(function) && &cuLaunchKernel)  // of a library
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                          config->blockDimZ, config->sharedMemBytes, config->hStream, arguments, extra);
  mneme::cuda::FakeLaunch launch;
  launch.kernel = functions.at(function);
  launch.shared_bytes = config->sharedMemBytes;
  const bool own = launch.kernel.starts_with("mneme_");
  mneme::cuda::fake_activity(state.kernel_time, own);
  if (own) {
    if (!state.own_kernels_do_nothing)
      mneme::gpu::host::run_own_kernel(launch.kernel, config->gridDimX, config->blockDimX, arguments);
    return CUDA_SUCCESS;
  }
  unsigned grid[] = {config->gridDimX, config->gridDimY, config->gridDimZ},
           block[] = {config->blockDimX, config->blockDimY, config->blockDimZ};
  memcpy(launch.grid, grid, sizeof grid);
  memcpy(launch.block, block, sizeof block);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.cooperative = attribute.value.cooperative != 0;
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = attribute.value.clusterDim;
    if (cluster.x * cluster.y * cluster.z > 8 && state.large_clusters == 0) return CUDA_ERROR_INVALID_VALUE;
    const unsigned extents[] = {cluster.x, cluster.y, cluster.z};
    memcpy(launch.cluster, extents, sizeof extents);
  }
  if (extra != nullptr) {
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
        extra[4] != CU_LAUNCH_PARAM_END) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto* bytes = static_cast<std::byte*>(extra[1]);
    launch.parameters.assign(bytes, bytes + *static_cast<size_t*>(extra[3]));
  } else if (arguments != nullptr) {
    size_t offset = 0, size = 0;
    for (size_t i = 0; mneme::cuda::fake_parameter_info(launch.kernel, i, &offset, &size) == CUDA_SUCCESS; ++i) {
      launch.parameters.resize(std::max(launch.parameters.size(), offset + size));
      memcpy(&launch.parameters[offset], arguments[i], size);
    }
  }
  if (auto kernel = state.kernels.find(launch.kernel); kernel != state.kernels.end()) kernel->second(launch);
  if (launch.kernel == "trap") state.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  state.last_launch = std::move(launch);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  ENTER();
  NEED_CONTEXT();
  ++state.streams;
  *stream = reinterpret_cast<CUstream>(stream_objects + streams.size());
  streams[*stream] = current_context();
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  ENTER();
  if (gone_streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  do_late();
  --state.streams;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  ENTER();
  NEED_CONTEXT();
  if (gone_streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  ++state.waits;
  do_late();
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  ENTER();
  NEED_CONTEXT();
  ++state.events;
  *event = reinterpret_cast<CUevent>(next_handle++);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  ENTER();
  recorded.erase(event);
  --state.events;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  ENTER();
  NEED_CONTEXT();
  ++state.operations;
  recorded[event] = late_done + late.size();
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  ENTER();
  NEED_CONTEXT();
  do_late(recorded[event]);
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  ENTER();
  *milliseconds = 0.25f;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t size) {
  ENTER();
  NEED_CONTEXT();
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > mneme::cuda::fake_free_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(malloc(size));
  if (*pointer == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  allocations[*pointer] = current_context();
  allocation_sizes[*pointer] = size;
  ++state.allocations;
  return CUDA_SUCCESS;
}
// Where a replay finds the place free.
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t size, unsigned) {
  ENTER();
  NEED_CONTEXT();
  static uint64_t next = 0x6f0000000000;
  void* given = mmap(reinterpret_cast<void*>(next), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  next += (size + (32 << 20)) / (32 << 20) * (32 << 20);
  *pointer = reinterpret_cast<CUdeviceptr>(given);
  managed[*pointer] = size;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) {
  ENTER();
  NEED_CONTEXT();
  if (const auto one = managed.find(pointer); one != managed.end()) {
    munmap(reinterpret_cast<void*>(pointer), one->second);
    managed.erase(one);
    return CUDA_SUCCESS;
  }
  if (allocations.erase(pointer) == 0) return CUDA_ERROR_INVALID_VALUE;
  --state.allocations;
  free(reinterpret_cast<void*>(pointer));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  ENTER();
  NEED_CONTEXT();
  ++state.pinned;
  *pointer = malloc(size);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* pointer) {
  ENTER();
  --state.pinned;
  free(pointer);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void*, size_t, unsigned flags) {
  ENTER();
  NEED_CONTEXT();
  if (flags != (CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE)) return CUDA_ERROR_INVALID_VALUE;
  ++state.pinned;
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void*) {
  ENTER();
  --state.pinned;
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* pointer, unsigned) {
  ENTER();
  *device = reinterpret_cast<CUdeviceptr>(pointer) + state.host_offset;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t size, CUstream) {
  {
    ENTER();
    NEED_CONTEXT();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGUSR1) == 0) state.open_to_signals.insert(pthread_self());
    ++state.operations;
  }
  copy(reinterpret_cast<void*>(to), from, size);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t size, CUstream) {
  {
    ENTER();
    NEED_CONTEXT();
    ++state.operations;
  }
  copy(to, reinterpret_cast<void*>(from), size);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream) {
  ENTER();
  NEED_CONTEXT();
  do_late();
  ++state.operations;
  memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream) {
  ENTER();
  NEED_CONTEXT();
  do_late();
  ++state.operations;
  memset(reinterpret_cast<void*>(to), value, size);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  ENTER();
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  *granularity = kFakeGranularity;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags) {
  ENTER();
  if (!aligned(size) || alignment != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  bool elsewhere = size < state.elsewhere_below || hint >= state.elsewhere_from;
  for (const auto& [begin, end] : state.mapped_at_start) elsewhere |= begin < hint + size && hint < end;
  void* wish = elsewhere ? nullptr : reinterpret_cast<void*>(hint);
  void* given = mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (given == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(given);
  reservations[*pointer] = size;
  ++state.reservations;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  ENTER();
  if (reservations[pointer] != size) return CUDA_ERROR_INVALID_VALUE;
  reservations.erase(pointer);
  munmap(reinterpret_cast<void*>(pointer), size);
  --state.reservations;
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  ENTER();
  if (!aligned(size) || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > mneme::cuda::fake_free_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = next_handle++;
  created[*handle] = size;
  ++state.memory_handles;
  if (properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    shared[*handle] = memfd_create("fake", MFD_CLOEXEC);
    if (ftruncate(shared[*handle], static_cast<off_t>(size)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* number, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  ENTER();
  // What was imported is not exported again.
  if (!shared.contains(handle) || imported.contains(handle) || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(number) = dup(shared[handle]);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* number, CUmemAllocationHandleType type) {
  ENTER();
  const int descriptor = static_cast<int>(reinterpret_cast<uintptr_t>(number));
  struct stat status{};
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(descriptor, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = next_handle++;
  created[*handle] = static_cast<size_t>(status.st_size);
  shared[*handle] = dup(descriptor);
  imported.insert(*handle);
  ++state.memory_handles;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ENTER();
  if (auto memory = shared.find(handle); memory != shared.end()) {
    close(memory->second);
    shared.erase(memory);
    imported.erase(handle);
  }
  if (created.erase(handle) == 0) return CUDA_ERROR_INVALID_VALUE;
  --state.memory_handles;
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  ENTER();
  if (!aligned(pointer) || created[handle] != size || offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (auto [address, bytes] : mappings) {
    if (pointer < address + bytes && address < pointer + size) return CUDA_ERROR_INVALID_VALUE;
  }
  if (auto memory = shared.find(handle); memory != shared.end())
    mmap(reinterpret_cast<void*>(pointer), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->second, 0);
  mappings[pointer] = size;
  mapped_at[pointer] = {handle};
  mapped_handles.insert(handle);
  ++state.mappings;
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  ENTER();
  uint64_t end = pointer;
  while (end < pointer + size && mappings.contains(end)) end += mappings[end];
  if (end != pointer + size) return CUDA_ERROR_INVALID_VALUE;
  for (uint64_t at = pointer; at < end; --state.mappings) {
    const auto one = mappings.find(at);
    at += one->second;
    readers.erase(one->first);
    mapped_at.erase(one->first);
    mappings.erase(one);
  }
  mmap(reinterpret_cast<void*>(pointer), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access, size_t count) {
  ENTER();
  if (access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {  // to take it from another device
    for (uint64_t at = pointer; at < pointer + size; at += mappings[at]) {
      if (!mappings.contains(at)) return CUDA_ERROR_INVALID_VALUE;
      readers[at].erase(access->location.id);
    }
    return CUDA_SUCCESS;
  }
  const bool writable = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (count != 1 || (!writable && access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ)) return CUDA_ERROR_INVALID_VALUE;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  for (uint64_t at = pointer; at < pointer + size; at += mappings[at]) {
    if (!mappings.contains(at)) return CUDA_ERROR_INVALID_VALUE;
    readers[at].insert(access->location.id);
    mapped_at[at].protection = protection;
  }
  mprotect(reinterpret_cast<void*>(pointer), size, protection);
  return CUDA_SUCCESS;
}

}  // extern "C"
