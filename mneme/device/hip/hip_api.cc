#include "mneme/device/hip/hip_api.h"

#include <vector>

#include "mneme/device/hip/dispatch_clock.h"
#include "mneme/device/hip/error.h"

namespace mneme::hip {
namespace {

using gpu::ResultCode;

ModuleHandle own(gpu::ModuleHandle module) { return reinterpret_cast<ModuleHandle>(module); }
FunctionHandle own(gpu::FunctionHandle function) { return reinterpret_cast<FunctionHandle>(function); }
StreamHandle own(gpu::StreamHandle stream) { return reinterpret_cast<StreamHandle>(stream); }
EventHandle own(gpu::EventHandle event) { return reinterpret_cast<EventHandle>(event); }
MemoryHandle own(gpu::MemoryHandle memory) { return reinterpret_cast<MemoryHandle>(memory); }
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// Calls a function that gives a pointer, for an address.
template <typename Call>
ResultCode with_pointer(uint64_t* address, Call&& call) {
  void* given = nullptr;
  const Error error = call(&given);
  if (error == gpu::kSuccess) *address = reinterpret_cast<uint64_t>(given);
  return error;
}

constexpr gpu::Words kWords = {
    .vendor = "HIP",
    .driver = "the runtime",
    .visible = "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES",
    .start = "hipInit",
    .count_devices = "hipGetDeviceCount",
    .find_device = "hipDeviceGet",
    .retain = "hipSetDevice",
    .make_current = "hipSetDevice",
    .load_module = "hipModuleLoadData",
    .find_function = "hipModuleGetFunction",
    .find_global = "hipModuleGetGlobal",
    .function_attribute = "hipFuncGetAttribute",
    .occupancy = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
    .launch = "hipModuleLaunchKernel",
    .launch_cooperative = "hipModuleLaunchCooperativeKernel",
    .create_stream = "hipStreamCreateWithFlags(hipStreamNonBlocking)",
    .synchronize = "hipStreamSynchronize",
    .create_event = "hipEventCreateWithFlags",
    .record_event = "hipEventRecord",
    .wait_for_event = "hipEventSynchronize",
    .elapsed = "hipEventElapsedTime",
    .allocate = "hipMalloc",
    .free = "hipFree",
    .allocate_host = "hipHostMalloc",
    .register_host = "hipHostRegister",
    .host_address = "hipHostGetDevicePointer",
    .copy_to_device = "hipMemcpyHtoDAsync",
    .copy_to_host = "hipMemcpyDtoHAsync",
    .copy = "hipMemcpyDtoDAsync",
    .fill = "hipMemsetD8Async",
    .reserve = "hipMemAddressReserve",
    .create_memory = "hipMemCreate",
    .map = "hipMemMap",
    .unmap = "hipMemUnmap",
    .set_access = "hipMemSetAccess",
    .export_memory = "hipMemExportToShareableHandle",
    .import_memory = "hipMemImportFromShareableHandle",
};

int flags_of(gpu::MemoryAccess access) {
  switch (access) {
    case gpu::MemoryAccess::none: return kAccessNone;
    case gpu::MemoryAccess::read: return kAccessRead;
    case gpu::MemoryAccess::read_write: break;
  }
  return kAccessReadWrite;
}

}  // namespace

const gpu::Words& HipApi::words() const { return kWords; }
Status HipApi::status_of(ResultCode result, std::string_view call) const { return hip::status_of(driver_, result, call); }
bool HipApi::is_fault(ResultCode result) const { return hip::is_fault(result); }
std::span<const uint64_t> HipApi::wider_reservations() const { return {}; }  // the wish is taken for ranges of any size

// ROCm's memory manager reserves ranges by mapping them, where the process has room, and asks again for each.
bool HipApi::remembers_mappings() const { return false; }
ResultCode HipApi::start() const {
  const Error error = driver_.hipInit(0);
  DispatchClock::runtime_started();
  return error;
}
// Without a device the runtime says so by an error, as it does of a broken one by others.
ResultCode HipApi::count_devices(int* count) const {
  const Error error = driver_.hipGetDeviceCount(count);
  if (error == kNoDevice) *count = 0;
  return error == kNoDevice ? gpu::kSuccess : error;
}
ResultCode HipApi::find_device(int* device, int ordinal) const { return driver_.hipDeviceGet(device, ordinal); }
// A device has one context, which nobody retains: it is the thread's when the device is. Making it current once finds out whether
// it can be, and leaves the thread as it was.
ResultCode HipApi::retain(gpu::ContextHandle* context, int device) const {
  *context = nullptr;
  gpu::PreviousContext previous;
  const ResultCode result = make_current(nullptr, device, &previous);
  if (previous.changed) restore(previous);
  return result;
}
void HipApi::release(int) const {}

ResultCode HipApi::make_current(gpu::ContextHandle, int device, gpu::PreviousContext* previous) const {
  const bool known = driver_.hipGetDevice(&previous->device) == gpu::kSuccess;
  if (known && previous->device == device) return gpu::kSuccess;
  const Error error = driver_.hipSetDevice(device);
  previous->changed = known && error == gpu::kSuccess;
  return error;
}
void HipApi::restore(const gpu::PreviousContext& previous) const { driver_.hipSetDevice(previous.device); }

void HipApi::unload(gpu::ModuleHandle module) const { driver_.hipModuleUnload(own(module)); }
ResultCode HipApi::find_function(gpu::FunctionHandle* function, gpu::ModuleHandle module, const char* name) const {
  return driver_.hipModuleGetFunction(reinterpret_cast<FunctionHandle*>(function), own(module), name);
}
ResultCode HipApi::find_global(uint64_t* address, size_t* size, gpu::ModuleHandle module, const char* name) const {
  return with_pointer(address, [&](void** given) { return driver_.hipModuleGetGlobal(given, size, own(module), name); });
}
ResultCode HipApi::function_attribute(int* value, gpu::FunctionAttribute attribute, gpu::FunctionHandle function) const {
  return driver_.hipFuncGetAttribute(value, static_cast<int>(attribute), own(function));
}
ResultCode HipApi::occupancy(int* blocks, gpu::FunctionHandle function, int threads, size_t shared_memory) const {
  return driver_.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, own(function), threads, shared_memory);
}

ResultCode HipApi::launch(const gpu::Launch& launch) const {
  const auto& [x, y, z] = launch.shape.grid;
  const auto& block = launch.shape.block;
  const auto shared = static_cast<unsigned>(launch.shape.dynamic_shared_memory.count);
  auto* parameters = const_cast<std::byte*>(launch.packed.data());
  if (launch.shape.cooperative) {
    // Such launches take no packed parameters: each argument's place is told.
    if (driver_.launch_cooperative == nullptr) return kNotSupported;
    std::vector<void*> arguments;
    for (const PackedPlace& place : launch.places) {
      if (place.offset > launch.packed.size() || place.size > launch.packed.size() - place.offset) return kInvalidValue;
      arguments.push_back(parameters + place.offset);
    }
    if (arguments.empty() && !launch.packed.empty()) return kInvalidValue;
    return driver_.launch_cooperative(own(launch.function), x, y, z, block.x, block.y, block.z, shared, own(launch.stream),
                                      arguments.data());
  }
  size_t size = launch.packed.size();
  void* packed[] = {kLaunchBufferPointer, parameters, kLaunchBufferSize, &size, kLaunchEnd};
  return driver_.hipModuleLaunchKernel(own(launch.function), x, y, z, block.x, block.y, block.z, shared, own(launch.stream),
                                       launch.arguments, size == 0 ? nullptr : packed);
}

ResultCode HipApi::create_stream(gpu::StreamHandle* stream) const {
  return driver_.hipStreamCreateWithFlags(reinterpret_cast<StreamHandle*>(stream), kStreamNonBlocking);
}
void HipApi::destroy(gpu::StreamHandle stream) const { driver_.hipStreamDestroy(own(stream)); }
ResultCode HipApi::synchronize(gpu::StreamHandle stream) const { return driver_.hipStreamSynchronize(own(stream)); }
ResultCode HipApi::create_event(gpu::EventHandle* event, gpu::EventUse use) const {
  return driver_.hipEventCreateWithFlags(reinterpret_cast<EventHandle*>(event),
                                         use == gpu::EventUse::timing ? kEventDefault : kEventDisableTiming);
}
void HipApi::destroy(gpu::EventHandle event) const { driver_.hipEventDestroy(own(event)); }
ResultCode HipApi::record_event(gpu::EventHandle event, gpu::StreamHandle stream) const {
  return driver_.hipEventRecord(own(event), own(stream));
}
ResultCode HipApi::wait_for_event(gpu::EventHandle event) const { return driver_.hipEventSynchronize(own(event)); }
ResultCode HipApi::elapsed(float* milliseconds, gpu::EventHandle start, gpu::EventHandle end) const {
  return driver_.hipEventElapsedTime(milliseconds, own(start), own(end));
}

ResultCode HipApi::allocate(uint64_t* address, size_t size) const {
  return with_pointer(address, [&](void** given) { return driver_.hipMalloc(given, size); });
}
ResultCode HipApi::free(uint64_t address) const { return driver_.hipFree(pointer(address)); }
ResultCode HipApi::allocate_host(void** memory, size_t size) const { return driver_.hipHostMalloc(memory, size, kHostPortable); }
ResultCode HipApi::free_host(void* memory) const { return driver_.hipHostFree(memory); }
ResultCode HipApi::register_host(void* memory, size_t size) const {
  return driver_.hipHostRegister(memory, size, kHostMapped | kHostPortable);
}
ResultCode HipApi::unregister_host(void* memory) const { return driver_.hipHostUnregister(memory); }
ResultCode HipApi::host_address(uint64_t* address, void* memory) const {
  return with_pointer(address, [&](void** given) { return driver_.hipHostGetDevicePointer(given, memory, 0); });
}
ResultCode HipApi::copy_to_device(uint64_t to, const void* from, size_t size, gpu::StreamHandle stream) const {
  return driver_.hipMemcpyHtoDAsync(pointer(to), const_cast<void*>(from), size, own(stream));
}
ResultCode HipApi::copy_to_host(void* to, uint64_t from, size_t size, gpu::StreamHandle stream) const {
  return driver_.hipMemcpyDtoHAsync(to, pointer(from), size, own(stream));
}
ResultCode HipApi::copy(uint64_t to, uint64_t from, size_t size, gpu::StreamHandle stream) const {
  return driver_.hipMemcpyDtoDAsync(pointer(to), pointer(from), size, own(stream));
}
ResultCode HipApi::fill(uint64_t to, unsigned char value, size_t size, gpu::StreamHandle stream) const {
  return driver_.hipMemsetD8Async(pointer(to), value, size, own(stream));
}

ResultCode HipApi::reserve(uint64_t* address, size_t size, uint64_t wish) const {
  return with_pointer(address, [&](void** given) { return driver_.hipMemAddressReserve(given, size, 0, pointer(wish), 0); });
}
ResultCode HipApi::unreserve(uint64_t address, size_t size) const { return driver_.hipMemAddressFree(pointer(address), size); }
ResultCode HipApi::create_memory(gpu::MemoryHandle* memory, size_t size, int device, gpu::Sharing sharing) const {
  AllocationProperties properties;
  properties.location.device = device;
  if (sharing == gpu::Sharing::descriptor) properties.handle_type = kDescriptorHandle;
  MemoryHandle handle = nullptr;
  const Error error = driver_.hipMemCreate(&handle, size, &properties, 0);
  *memory = static_cast<gpu::MemoryHandle>(reinterpret_cast<uint64_t>(handle));
  return error;
}
void HipApi::release(gpu::MemoryHandle memory) const { driver_.hipMemRelease(own(memory)); }
ResultCode HipApi::map(uint64_t address, size_t size, gpu::MemoryHandle memory) const {
  return driver_.hipMemMap(pointer(address), size, 0, own(memory), 0);
}
ResultCode HipApi::unmap(uint64_t address, size_t size) const { return driver_.hipMemUnmap(pointer(address), size); }
ResultCode HipApi::set_access(uint64_t address, size_t size, int device, gpu::MemoryAccess access) const {
  AccessDescription description;
  description.location.device = device;
  description.flags = flags_of(access);
  return driver_.hipMemSetAccess(pointer(address), size, &description, 1);
}
ResultCode HipApi::export_memory(int* descriptor, gpu::MemoryHandle memory) const {
  return driver_.hipMemExportToShareableHandle(descriptor, own(memory), kDescriptorHandle, 0);
}
ResultCode HipApi::import_memory(gpu::MemoryHandle* memory, int descriptor) const {
  int version = 0;
  if (const Error error = driver_.hipRuntimeGetVersion(&version); error != 0) return error;
  // From ROCm 7.1 on the runtime takes the number in place of a pointer, before it a pointer to the number.
  void* number = version < 70'100'000 ? &descriptor : reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
  MemoryHandle handle = nullptr;
  const Error error = driver_.hipMemImportFromShareableHandle(&handle, number, kDescriptorHandle);
  *memory = static_cast<gpu::MemoryHandle>(reinterpret_cast<uint64_t>(handle));
  return error;
}

}  // namespace mneme::hip
