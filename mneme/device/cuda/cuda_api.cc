#include "mneme/device/cuda/cuda_api.h"

#include <array>

#include "mneme/device/cuda/error.h"

namespace mneme::cuda {
namespace {

using gpu::ResultCode;

CUcontext own(gpu::ContextHandle context) { return reinterpret_cast<CUcontext>(context); }
CUmodule own(gpu::ModuleHandle module) { return reinterpret_cast<CUmodule>(module); }
CUfunction own(gpu::FunctionHandle function) { return reinterpret_cast<CUfunction>(function); }
CUstream own(gpu::StreamHandle stream) { return reinterpret_cast<CUstream>(stream); }
CUevent own(gpu::EventHandle event) { return reinterpret_cast<CUevent>(event); }
CUmemGenericAllocationHandle own(gpu::MemoryHandle memory) { return static_cast<CUmemGenericAllocationHandle>(memory); }

CUdeviceptr* own(uint64_t* address) {
  static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t));
  return reinterpret_cast<CUdeviceptr*>(address);
}

constexpr bool is_number(gpu::FunctionAttribute attribute, CUfunction_attribute own) {
  return static_cast<int>(attribute) == own;
}
static_assert(is_number(gpu::FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(is_number(gpu::FunctionAttribute::static_shared_memory, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(is_number(gpu::FunctionAttribute::constant_memory, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
static_assert(is_number(gpu::FunctionAttribute::local_memory, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(is_number(gpu::FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(is_number(gpu::FunctionAttribute::max_dynamic_shared_memory, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));

constexpr gpu::Words kWords = {
    .vendor = "CUDA",
    .driver = "the driver",
    .visible = "CUDA_VISIBLE_DEVICES",
    .start = "cuInit",
    .count_devices = "cuDeviceGetCount",
    .find_device = "cuDeviceGet",
    .retain = "cuDevicePrimaryCtxRetain",
    .make_current = "cuCtxPushCurrent",
    .load_module = "cuModuleLoadDataEx",
    .find_function = "cuModuleGetFunction",
    .find_global = "cuModuleGetGlobal",
    .function_attribute = "cuFuncGetAttribute",
    .occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    .launch = "cuLaunchKernelEx",
    .launch_cooperative = "cuLaunchKernelEx",
    .create_stream = "cuStreamCreate(CU_STREAM_NON_BLOCKING)",
    .synchronize = "cuStreamSynchronize",
    .create_event = "cuEventCreate",
    .record_event = "cuEventRecord",
    .wait_for_event = "cuEventSynchronize",
    .elapsed = "cuEventElapsedTime",
    .allocate = "cuMemAlloc",
    .free = "cuMemFree",
    .allocate_host = "cuMemHostAlloc",
    .register_host = "cuMemHostRegister",
    .host_address = "cuMemHostGetDevicePointer",
    .copy_to_device = "cuMemcpyHtoDAsync",
    .copy_to_host = "cuMemcpyDtoHAsync",
    .copy = "cuMemcpyDtoDAsync",
    .fill = "cuMemsetD8Async",
    .reserve = "cuMemAddressReserve",
    .create_memory = "cuMemCreate",
    .map = "cuMemMap",
    .unmap = "cuMemUnmap",
    .set_access = "cuMemSetAccess",
    .export_memory = "cuMemExportToShareableHandle",
    .import_memory = "cuMemImportFromShareableHandle",
};

// Tried one after another where the driver places a small range elsewhere: it takes the hint for large ones.
constexpr uint64_t kWiderReservations[] = {uint64_t{64} << 30, uint64_t{256} << 30, uint64_t{1} << 40};

CUmemLocation location_of(int device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAccess_flags flags_of(gpu::MemoryAccess access) {
  switch (access) {
    case gpu::MemoryAccess::none: return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    case gpu::MemoryAccess::read: return CU_MEM_ACCESS_FLAGS_PROT_READ;
    case gpu::MemoryAccess::read_write: break;
  }
  return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

}  // namespace

const gpu::Words& CudaApi::words() const { return kWords; }
Status CudaApi::status_of(ResultCode result, std::string_view call) const {
  return cuda::status_of(driver_, static_cast<CUresult>(result), call);
}
bool CudaApi::is_fault(ResultCode result) const { return cuda::is_fault(static_cast<CUresult>(result)); }
std::span<const uint64_t> CudaApi::wider_reservations() const { return kWiderReservations; }

bool CudaApi::remembers_mappings() const { return true; }
ResultCode CudaApi::start() const { return driver_.cuInit(0); }
ResultCode CudaApi::count_devices(int* count) const { return driver_.cuDeviceGetCount(count); }
ResultCode CudaApi::find_device(int* device, int ordinal) const { return driver_.cuDeviceGet(device, ordinal); }
ResultCode CudaApi::retain(gpu::ContextHandle* context, int device) const {
  return driver_.cuDevicePrimaryCtxRetain(reinterpret_cast<CUcontext*>(context), device);
}
void CudaApi::release(int device) const { driver_.cuDevicePrimaryCtxRelease(device); }

ResultCode CudaApi::make_current(gpu::ContextHandle context, int, gpu::PreviousContext* previous) const {
  CUcontext current = nullptr;
  if (driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own(context)) return CUDA_SUCCESS;
  const CUresult result = driver_.cuCtxPushCurrent(own(context));
  previous->changed = result == CUDA_SUCCESS;
  return result;
}
void CudaApi::restore(const gpu::PreviousContext&) const {
  CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent(&popped);
}

void CudaApi::unload(gpu::ModuleHandle module) const { driver_.cuModuleUnload(own(module)); }
ResultCode CudaApi::find_function(gpu::FunctionHandle* function, gpu::ModuleHandle module, const char* name) const {
  return driver_.cuModuleGetFunction(reinterpret_cast<CUfunction*>(function), own(module), name);
}
ResultCode CudaApi::find_global(uint64_t* address, size_t* size, gpu::ModuleHandle module, const char* name) const {
  return driver_.cuModuleGetGlobal(own(address), size, own(module), name);
}
ResultCode CudaApi::function_attribute(int* value, gpu::FunctionAttribute attribute, gpu::FunctionHandle function) const {
  return driver_.cuFuncGetAttribute(value, static_cast<CUfunction_attribute>(attribute), own(function));
}
ResultCode CudaApi::occupancy(int* blocks, gpu::FunctionHandle function, int threads, size_t shared_memory) const {
  return driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, own(function), threads, shared_memory);
}

ResultCode CudaApi::launch(const gpu::Launch& launch) const {
  const LaunchShape& shape = launch.shape;
  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned used = 0;
  if (shape.cooperative) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[used++].value.cooperative = 1;
  }
  if (shape.cluster != kNoCluster) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[used++].value.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  }
  CUlaunchConfig config{};
  config.gridDimX = shape.grid.x;
  config.gridDimY = shape.grid.y;
  config.gridDimZ = shape.grid.z;
  config.blockDimX = shape.block.x;
  config.blockDimY = shape.block.y;
  config.blockDimZ = shape.block.z;
  config.sharedMemBytes = static_cast<unsigned>(shape.dynamic_shared_memory.count);
  config.hStream = own(launch.stream);
  config.attrs = used != 0 ? attributes.data() : nullptr;
  config.numAttrs = used;
  size_t size = launch.packed.size();
  void* packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(launch.packed.data()), CU_LAUNCH_PARAM_BUFFER_SIZE,
                    &size, CU_LAUNCH_PARAM_END};
  return driver_.cuLaunchKernelEx(&config, own(launch.function), launch.arguments, size == 0 ? nullptr : packed);
}

ResultCode CudaApi::create_stream(gpu::StreamHandle* stream) const {
  return driver_.cuStreamCreate(reinterpret_cast<CUstream*>(stream), CU_STREAM_NON_BLOCKING);
}
void CudaApi::destroy(gpu::StreamHandle stream) const { driver_.cuStreamDestroy(own(stream)); }
ResultCode CudaApi::synchronize(gpu::StreamHandle stream) const { return driver_.cuStreamSynchronize(own(stream)); }
ResultCode CudaApi::create_event(gpu::EventHandle* event, gpu::EventUse use) const {
  return driver_.cuEventCreate(reinterpret_cast<CUevent*>(event),
                               use == gpu::EventUse::timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
}
void CudaApi::destroy(gpu::EventHandle event) const { driver_.cuEventDestroy(own(event)); }
ResultCode CudaApi::record_event(gpu::EventHandle event, gpu::StreamHandle stream) const {
  return driver_.cuEventRecord(own(event), own(stream));
}
ResultCode CudaApi::wait_for_event(gpu::EventHandle event) const { return driver_.cuEventSynchronize(own(event)); }
ResultCode CudaApi::elapsed(float* milliseconds, gpu::EventHandle start, gpu::EventHandle end) const {
  return driver_.event_elapsed_time(milliseconds, own(start), own(end));
}

ResultCode CudaApi::allocate(uint64_t* address, size_t size) const { return driver_.cuMemAlloc(own(address), size); }
ResultCode CudaApi::free(uint64_t address) const { return driver_.cuMemFree(address); }
ResultCode CudaApi::allocate_host(void** memory, size_t size) const {
  return driver_.cuMemHostAlloc(memory, size, CU_MEMHOSTALLOC_PORTABLE);
}
ResultCode CudaApi::free_host(void* memory) const { return driver_.cuMemFreeHost(memory); }
ResultCode CudaApi::register_host(void* memory, size_t size) const {
  return driver_.cuMemHostRegister(memory, size, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
}
ResultCode CudaApi::unregister_host(void* memory) const { return driver_.cuMemHostUnregister(memory); }
ResultCode CudaApi::host_address(uint64_t* address, void* memory) const {
  return driver_.cuMemHostGetDevicePointer(own(address), memory, 0);
}
ResultCode CudaApi::copy_to_device(uint64_t to, const void* from, size_t size, gpu::StreamHandle stream) const {
  return driver_.cuMemcpyHtoDAsync(to, from, size, own(stream));
}
ResultCode CudaApi::copy_to_host(void* to, uint64_t from, size_t size, gpu::StreamHandle stream) const {
  return driver_.cuMemcpyDtoHAsync(to, from, size, own(stream));
}
ResultCode CudaApi::copy(uint64_t to, uint64_t from, size_t size, gpu::StreamHandle stream) const {
  return driver_.cuMemcpyDtoDAsync(to, from, size, own(stream));
}
ResultCode CudaApi::fill(uint64_t to, unsigned char value, size_t size, gpu::StreamHandle stream) const {
  return driver_.cuMemsetD8Async(to, value, size, own(stream));
}

ResultCode CudaApi::reserve(uint64_t* address, size_t size, uint64_t wish) const {
  return driver_.cuMemAddressReserve(own(address), size, 0, wish, 0);
}
ResultCode CudaApi::unreserve(uint64_t address, size_t size) const { return driver_.cuMemAddressFree(address, size); }
ResultCode CudaApi::create_memory(gpu::MemoryHandle* memory, size_t size, int device, gpu::Sharing sharing) const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  if (sharing == gpu::Sharing::descriptor) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = location_of(device);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver_.cuMemCreate(&handle, size, &properties, 0);
  *memory = static_cast<gpu::MemoryHandle>(handle);
  return result;
}
void CudaApi::release(gpu::MemoryHandle memory) const { driver_.cuMemRelease(own(memory)); }
ResultCode CudaApi::map(uint64_t address, size_t size, gpu::MemoryHandle memory) const {
  return driver_.cuMemMap(address, size, 0, own(memory), 0);
}
ResultCode CudaApi::unmap(uint64_t address, size_t size) const { return driver_.cuMemUnmap(address, size); }
ResultCode CudaApi::set_access(uint64_t address, size_t size, int device, gpu::MemoryAccess access) const {
  CUmemAccessDesc description{};
  description.location = location_of(device);
  description.flags = flags_of(access);
  return driver_.cuMemSetAccess(address, size, &description, 1);
}
ResultCode CudaApi::export_memory(int* descriptor, gpu::MemoryHandle memory) const {
  return driver_.cuMemExportToShareableHandle(descriptor, own(memory), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}
ResultCode CudaApi::import_memory(gpu::MemoryHandle* memory, int descriptor) const {
  CUmemGenericAllocationHandle handle = 0;
  // The driver takes the number in place of a pointer.
  auto number = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
  const CUresult result = driver_.cuMemImportFromShareableHandle(&handle, number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  *memory = static_cast<gpu::MemoryHandle>(handle);
  return result;
}

}  // namespace mneme::cuda
