#include "mneme/device/hip/fake_hip.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>

#include "mneme/device/gpu/own_kernels_host.h"

using namespace mneme::hip;

namespace {

FakeHipState state;
std::recursive_mutex mutex;
thread_local int current = 0;
std::map<uint64_t, uint64_t> reservations, mappings, created, allocations;
std::map<uint64_t, int> shared;  // memory → descriptor
std::set<uint64_t> imported;
std::map<FunctionHandle, std::string> functions;
uint64_t next_handle = 1;

// Copies that are still to be done, and what each event waits for.
std::deque<std::function<void()>> late;
uint64_t late_done = 0;
std::map<EventHandle, uint64_t> recorded;

template <typename Handle>
Handle handle_of(uint64_t number) {
  return reinterpret_cast<Handle>(number);
}
template <typename Handle>
uint64_t number_of(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

// Every function begins with this: the scripted failure, then the fault that stays.
Error enter(const char* function) {
  state.calls.emplace_back(function);
  if (state.fail_function == function && state.fail_after-- == 0) {
    state.fail_function.clear();
    return state.fail_error;
  }
  return state.fault;
}
#define ENTER()                \
  std::lock_guard lock(mutex); \
  if (const Error error = enter(__func__); error != 0) return error

void do_late(uint64_t until = UINT64_MAX) {
  for (; late_done < until && !late.empty(); ++late_done) {
    late.front()();
    late.pop_front();
  }
}
void copy(void* to, const void* from, size_t size) {
  if (state.late_copies) {
    late.push_back([=] { memcpy(to, from, size); });
    return;
  }
  do_late();
  memcpy(to, from, size);
}

bool aligned(uint64_t value) { return value % state.granularity == 0; }
bool is_mapped(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    const uint64_t begin = std::strtoull(line.c_str(), &end, 16);
    if (address >= begin && address < std::strtoull(end + 1, nullptr, 16)) return true;
  }
  return false;
}

// A variable, and the kernel that adds it to words: what programs outside of this process find out that code has run by.
unsigned char offsets[24] = {};
void add_offsets(const std::vector<std::byte>& parameters, uint64_t threads) {
  uint32_t* words = nullptr;
  uint32_t count = 0;
  memcpy(&words, &parameters[0], sizeof words);
  memcpy(&count, &parameters[8], sizeof count);
  for (uint64_t i = 0; i < threads && i < count; ++i) words[i] += 1u + offsets[i % sizeof offsets];
}

// The properties were another structure in ROCm 5.2, whose own runtime does not have the functions that take it.
struct OldAllocationProperties {
  unsigned char compression;
  Location location;
  int handle_type, type;
  unsigned short usage;
  void* metadata;
};
AllocationProperties known(const AllocationProperties* given) {
  const char* headers = getenv("MNEME_FAKE_HIP_PROPERTIES");
  if (headers == nullptr || strcmp(headers, "5.2") != 0) return *given;
  OldAllocationProperties old;
  memcpy(&old, given, sizeof old);
  AllocationProperties properties;
  properties.type = old.type;
  properties.handle_type = old.handle_type;
  properties.location = old.location;
  return properties;
}

Error launch(FunctionHandle function, const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared_bytes,
             void** arguments, void** packed, bool cooperative) {
  do_late();
  FakeLaunch made;
  made.kernel = functions.at(function);
  if (made.kernel.starts_with("mneme_")) {
    mneme::gpu::host::run_own_kernel(made.kernel, grid[0], block[0], arguments);
    return 0;
  }
  fake_dispatch(930);
  memcpy(made.grid, grid, sizeof grid);
  memcpy(made.block, block, sizeof block);
  made.shared_bytes = shared_bytes;
  made.cooperative = cooperative;
  if (packed != nullptr) {
    if (packed[0] != kLaunchBufferPointer || packed[2] != kLaunchBufferSize || packed[4] != kLaunchEnd) return kInvalidValue;
    auto* bytes = static_cast<std::byte*>(packed[1]);
    made.parameters.assign(bytes, bytes + *static_cast<size_t*>(packed[3]));
  } else if (arguments != nullptr) {
    for (size_t i = 0; i < state.parameters.size(); ++i) {
      const auto [offset, size] = state.parameters[i];
      made.parameters.resize(std::max(made.parameters.size(), offset + size));
      memcpy(&made.parameters[offset], arguments[i], size);
    }
  }
  if (made.kernel == "add_offsets") add_offsets(made.parameters, uint64_t{grid[0]} * block[0]);
  if (made.kernel == "add_texels") fake_add_texels(made.parameters);
  if (made.kernel == "trap") state.fault = kIllegalAddress;
  state.last_launch = std::move(made);
  return 0;
}

}  // namespace

FakeHipState& mneme::hip::fake_hip_state() { return state; }
Error mneme::hip::fake_hip_enter(const char* function) {
  std::lock_guard lock(mutex);
  return enter(function);
}
void mneme::hip::fake_hip_finish_copies() {
  std::lock_guard lock(mutex);
  do_late();
}

extern "C" {

FakeHipState* mneme_fake_hip_state() { return &state; }

const char* hipGetErrorName(Error error) {
  static const std::map<Error, const char*> names = {{kInvalidValue, "hipErrorInvalidValue"},
                                                     {kOutOfMemory, "hipErrorOutOfMemory"},
                                                     {kNoDevice, "hipErrorNoDevice"},
                                                     {kNoBinaryForGpu, "hipErrorNoBinaryForGpu"},
                                                     {kNotFound, "hipErrorNotFound"},
                                                     {kIllegalAddress, "hipErrorIllegalAddress"},
                                                     {kLaunchOutOfResources, "hipErrorLaunchOutOfResources"},
                                                     {kNotSupported, "hipErrorNotSupported"}};
  const auto found = names.find(error);
  return found == names.end() ? nullptr : found->second;
}
const char* hipGetErrorString(Error error) {
  return error == kIllegalAddress ? "an illegal memory access was encountered" : "words of the runtime";
}

Error hipInit(unsigned) {
  ENTER();
  if (state.watched_address != 0) state.mapped_at_start = is_mapped(state.watched_address);
  fake_rocprofiler_runtime_starts();
  return 0;
}
Error hipGetDeviceCount(int* count) {
  ENTER();
  *count = state.devices;
  return state.devices == 0 ? kNoDevice : 0;
}
Error hipDeviceGet(int* device, int ordinal) {
  ENTER();
  *device = ordinal;
  return 0;
}
Error hipDeviceGetName(char* name, int size, int) {
  ENTER();
  strncpy(name, state.name.c_str(), size);
  return 0;
}
Error hipDeviceTotalMem(size_t* bytes, int) {
  ENTER();
  *bytes = size_t{1} << 30;
  return 0;
}
Error hipDeviceGetPCIBusId(char* address, int size, int) {
  ENTER();
  strncpy(address, "0000:c1:00.0", size);
  return 0;
}
Error hipDeviceGetAttribute(int* value, Attribute attribute, int) {
  ENTER();
  switch (attribute) {
    case Attribute::warp_size: *value = 64; break;
    case Attribute::multiprocessors: *value = 2; break;
    case Attribute::max_grid_x: *value = 2147483647; break;
    case Attribute::max_grid_y:
    case Attribute::max_grid_z: *value = 65535; break;
    case Attribute::shared_memory_per_block: *value = 65536; break;
    case Attribute::l2_cache: *value = 8 << 20; break;
    case Attribute::max_threads_per_multiprocessor: *value = 2048; break;
    case Attribute::virtual_memory_management:
    case Attribute::image_support: *value = 1; break;
    default: *value = 1024; break;
  }
  if (auto found = state.attributes.find(attribute); found != state.attributes.end()) *value = found->second;
  return 0;
}
Error hipGetDevicePropertiesR0600(void* properties, int) {
  ENTER();
  memset(properties, 0x55, kPropertiesSince6.size);
  strcpy(static_cast<char*>(properties) + kPropertiesSince6.architecture, state.architecture.c_str());
  return 0;
}

Error hipGetDevice(int* device) {
  std::lock_guard lock(mutex);
  state.current = *device = current;
  return 0;
}
Error hipSetDevice(int device) {
  ENTER();
  if (device < 0 || device >= state.devices) return kInvalidDevice;
  state.current = current = device;
  return 0;
}

Error hipModuleLoadData(ModuleHandle* module, const void* image) {
  ENTER();
  const auto* bytes = static_cast<const std::byte*>(image);
  state.images.emplace_back(bytes, bytes + 64);
  ++state.modules;
  *module = handle_of<ModuleHandle>(next_handle++);
  return 0;
}
Error hipModuleUnload(ModuleHandle) {
  ENTER();
  --state.modules;
  return 0;
}
Error hipModuleGetFunction(FunctionHandle* function, ModuleHandle, const char* name) {
  ENTER();
  if (strcmp(name, "missing") == 0) return kNotFound;
  *function = handle_of<FunctionHandle>(next_handle++);
  functions[*function] = name;
  return 0;
}
Error hipModuleGetGlobal(void** address, size_t* size, ModuleHandle, const char* name) {
  ENTER();
  if (strcmp(name, "offsets") == 0) {
    *address = offsets;
    *size = sizeof offsets;
    return 0;
  }
  if (strcmp(name, "table") != 0) return kNotFound;
  *address = reinterpret_cast<void*>(0x1000);
  *size = 24;
  return 0;
}
Error hipFuncGetAttribute(int* value, int attribute, FunctionHandle) {
  ENTER();
  constexpr int kValues[] = {512, 128, 8, 16, 37};  // threads, LDS, constants, scratch, registers
  if (attribute >= 5) return kInvalidValue;
  *value = kValues[attribute];
  return 0;
}
Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int threads, size_t shared_bytes) {
  ENTER();
  *blocks = 2048 / threads + static_cast<int>(shared_bytes);
  return 0;
}
Error hipModuleLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle, void** arguments,
                            void** packed) {
  ENTER();
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, arguments, packed, false);
}
Error hipModuleLaunchCooperativeKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle,
                                       void** arguments) {
  ENTER();
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, arguments, nullptr, true);
}

Error hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
  ENTER();
  if (flags != kStreamNonBlocking) return kInvalidValue;
  ++state.streams;
  *stream = handle_of<StreamHandle>(next_handle++);
  return 0;
}
Error hipStreamDestroy(StreamHandle) {
  ENTER();
  do_late();
  --state.streams;
  return 0;
}
Error hipStreamSynchronize(StreamHandle) {
  ENTER();
  do_late();
  return 0;
}
Error hipEventCreateWithFlags(EventHandle* event, unsigned flags) {
  ENTER();
  if (flags != kEventDefault && flags != kEventDisableTiming) return kInvalidValue;
  ++state.events;
  *event = handle_of<EventHandle>(next_handle++);
  return 0;
}
Error hipEventDestroy(EventHandle event) {
  ENTER();
  recorded.erase(event);
  --state.events;
  return 0;
}
Error hipEventRecord(EventHandle event, StreamHandle) {
  ENTER();
  recorded[event] = late_done + late.size();
  return 0;
}
Error hipEventSynchronize(EventHandle event) {
  ENTER();
  do_late(recorded[event]);
  return 0;
}
Error hipEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  ENTER();
  *milliseconds = 0.25f;
  return 0;
}

Error hipMalloc(void** pointer, size_t size) {
  ENTER();
  if (size == 0) return kInvalidValue;
  *pointer = malloc(size);
  if (*pointer == nullptr) return kOutOfMemory;
  allocations[number_of(*pointer)] = size;
  ++state.allocations;
  return 0;
}
Error hipFree(void* pointer) {
  ENTER();
  if (allocations.erase(number_of(pointer)) == 0) return kInvalidValue;
  --state.allocations;
  free(pointer);
  return 0;
}
Error hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  ENTER();
  if (flags != kHostPortable) return kInvalidValue;
  ++state.pinned;
  *pointer = malloc(size);
  return 0;
}
Error hipHostFree(void* pointer) {
  ENTER();
  --state.pinned;
  free(pointer);
  return 0;
}
Error hipHostRegister(void*, size_t, unsigned flags) {
  ENTER();
  if (flags != (kHostMapped | kHostPortable)) return kInvalidValue;
  ++state.pinned;
  return 0;
}
Error hipHostUnregister(void*) {
  ENTER();
  --state.pinned;
  return 0;
}
Error hipHostGetDevicePointer(void** device, void* host, unsigned) {
  ENTER();
  *device = static_cast<char*>(host) + state.host_offset;
  return 0;
}
Error hipMemcpyHtoDAsync(void* to, void* from, size_t size, StreamHandle) {
  ENTER();
  copy(to, from, size);
  return 0;
}
Error hipMemcpyDtoHAsync(void* to, void* from, size_t size, StreamHandle) {
  ENTER();
  copy(to, from, size);
  return 0;
}
Error hipMemcpyDtoDAsync(void* to, void* from, size_t size, StreamHandle) {
  ENTER();
  do_late();
  memmove(to, from, size);
  return 0;
}
Error hipMemsetD8Async(void* to, unsigned char value, size_t size, StreamHandle) {
  ENTER();
  do_late();
  memset(to, value, size);
  return 0;
}

Error hipMemcpy(void* to, const void* from, size_t size, int) {
  ENTER();
  do_late();
  memcpy(to, from, size);
  return 0;
}
Error hipDeviceSynchronize() {
  ENTER();
  do_late();
  return 0;
}

Error hipMemGetAllocationGranularity(size_t* granularity, const AllocationProperties* given, int option) {
  ENTER();
  const AllocationProperties properties = known(given);
  if (properties.type != kPinned || properties.location.type != kOnDevice || option != kMinimumGranularity) return kInvalidValue;
  *granularity = state.granularity;
  return 0;
}
Error hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wish, unsigned long long flags) {
  ENTER();
  if (!aligned(size) || alignment != 0 || flags != 0) return kInvalidValue;
  void* given = mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (given == MAP_FAILED) return kOutOfMemory;
  *pointer = given;
  reservations[number_of(given)] = size;
  ++state.reservations;
  return 0;
}
Error hipMemAddressFree(void* pointer, size_t size) {
  ENTER();
  if (reservations[number_of(pointer)] != size) return kInvalidValue;
  reservations.erase(number_of(pointer));
  munmap(pointer, size);
  --state.reservations;
  return 0;
}
Error hipMemCreate(MemoryHandle* memory, size_t size, const AllocationProperties* given, unsigned long long flags) {
  ENTER();
  const AllocationProperties properties = known(given);
  if (!aligned(size) || properties.type != kPinned || properties.location.type != kOnDevice || flags != 0) return kInvalidValue;
  const uint64_t handle = next_handle++;
  *memory = handle_of<MemoryHandle>(handle);
  created[handle] = size;
  ++state.memory_handles;
  if (properties.handle_type == kDescriptorHandle) {
    shared[handle] = memfd_create("fake", MFD_CLOEXEC);
    if (ftruncate(shared[handle], static_cast<off_t>(size)) != 0) return kOutOfMemory;
  }
  return 0;
}
Error hipMemRelease(MemoryHandle memory) {
  ENTER();
  const uint64_t handle = number_of(memory);
  if (auto found = shared.find(handle); found != shared.end()) {
    close(found->second);
    shared.erase(found);
    imported.erase(handle);
  }
  if (created.erase(handle) == 0) return kInvalidValue;
  --state.memory_handles;
  return 0;
}
Error hipMemExportToShareableHandle(void* number, MemoryHandle memory, int type, unsigned long long flags) {
  ENTER();
  const uint64_t handle = number_of(memory);
  // What was imported is not exported again.
  if (!shared.contains(handle) || imported.contains(handle) || type != kDescriptorHandle || flags != 0) return kInvalidValue;
  *static_cast<int*>(number) = dup(shared[handle]);
  return 0;
}
Error hipRuntimeGetVersion(int* version) {
  ENTER();
  *version = state.runtime_version;
  return 0;
}
Error hipMemImportFromShareableHandle(MemoryHandle* memory, void* number, int type) {
  ENTER();
  const int descriptor =
      state.runtime_version < 70'100'000 ? *static_cast<const int*>(number) : static_cast<int>(number_of(number));
  struct stat status{};
  if (type != kDescriptorHandle || number == nullptr || fstat(descriptor, &status) != 0) return kInvalidValue;
  const uint64_t handle = next_handle++;
  *memory = handle_of<MemoryHandle>(handle);
  created[handle] = static_cast<size_t>(status.st_size);
  shared[handle] = dup(descriptor);
  imported.insert(handle);
  ++state.memory_handles;
  return 0;
}
Error hipMemMap(void* pointer, size_t size, size_t offset, MemoryHandle memory, unsigned long long flags) {
  ENTER();
  const uint64_t begin = number_of(pointer), handle = number_of(memory);
  if (!aligned(begin) || created[handle] != size || offset != 0 || flags != 0) return kInvalidValue;
  for (auto [address, bytes] : mappings)
    if (begin < address + bytes && address < begin + size) return kInvalidValue;
  if (auto found = shared.find(handle); found != shared.end())
    mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second, 0);
  mappings[begin] = size;
  ++state.mappings;
  return 0;
}
Error hipMemUnmap(void* pointer, size_t size) {
  ENTER();
  const auto found = mappings.find(number_of(pointer));
  if (found == mappings.end() || found->second != size) return kInvalidValue;
  mappings.erase(found);
  --state.mappings;
  mmap(pointer, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return 0;
}
Error hipMemSetAccess(void* pointer, size_t size, const AccessDescription* access, size_t count) {
  ENTER();
  if (count != 1 || access->location.type != kOnDevice) return kInvalidValue;
  for (uint64_t at = number_of(pointer), end = at + size; at < end; at += mappings[at])
    if (!mappings.contains(at)) return kInvalidValue;
  const int protection = access->flags == kAccessReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  if (access->location.device == 0 && access->flags != kAccessNone) mprotect(pointer, size, protection);
  return 0;
}

}  // extern "C"
