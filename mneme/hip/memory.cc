// Memory of the device, of the host, managed and of pools.
#include <mutex>

#include "mneme/base/range_map.h"
#include "mneme/hip/external_memory.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/versions.h"

namespace mneme::hip {
namespace {

// What the program has allocated: HIP tells where an allocation begins and how large it is, which CUDA's runtime does not.
class Allocations {
 public:
  static Allocations& get() {
    static auto* allocations = new Allocations;
    return *allocations;
  }
  void add(const void* pointer, size_t size) {
    if (!pointer) return;
    std::lock_guard lock(mutex_);
    ranges_.set({address(pointer), Bytes(size)});
  }
  void remove(const void* pointer) {
    std::lock_guard lock(mutex_);
    if (ranges_.find_start(address(pointer))) ranges_.erase_start(address(pointer));
  }
  std::optional<MemoryRange> find(const void* pointer) const {
    std::lock_guard lock(mutex_);
    const auto* found = ranges_.find(address(pointer));
    return found ? std::optional(found->range) : std::nullopt;
  }

 private:
  static DevicePtr address(const void* pointer) { return DevicePtr(reinterpret_cast<uint64_t>(pointer)); }
  mutable std::mutex mutex_;
  RangeMap<> ranges_;
};

// Around handlers that allocate: what they have given is noted.
template <auto kHandler>
struct Kept;
template <typename... Rest, hipError_t (*kHandler)(Table&, void**, size_t, Rest...)>
struct Kept<kHandler> {
  static hipError_t call(Table& table, void** pointer, size_t size, Rest... rest) {
    const hipError_t result = kHandler(table, pointer, size, rest...);
    if (result == hipSuccess) Allocations::get().add(*pointer, size);
    return result;
  }
};
template <typename... Rest, hipError_t (*kHandler)(Table&, void**, size_t*, size_t, size_t, Rest...)>
struct Kept<kHandler> {
  static hipError_t call(Table& table, void** pointer, size_t* pitch, size_t width, size_t height, Rest... rest) {
    const hipError_t result = kHandler(table, pointer, pitch, width, height, rest...);
    if (result == hipSuccess) Allocations::get().add(*pointer, *pitch * height);
    return result;
  }
};
template <hipError_t (*kHandler)(Table&, hipPitchedPtr*, hipExtent)>
struct Kept<kHandler> {
  static hipError_t call(Table& table, hipPitchedPtr* pointer, hipExtent extent) {
    const hipError_t result = kHandler(table, pointer, extent);
    if (result == hipSuccess) Allocations::get().add(pointer->ptr, pointer->pitch * extent.height * extent.depth);
    return result;
  }
};
// Around handlers that free. Noted memory goes first: another thread may be given it as soon as it is free.
template <auto kHandler>
struct Forgotten;
template <typename... Rest, hipError_t (*kHandler)(Table&, void*, Rest...)>
struct Forgotten<kHandler> {
  static hipError_t call(Table& table, void* pointer, Rest... rest) {
    const auto known = Allocations::get().find(pointer);
    Allocations::get().remove(pointer);
    const hipError_t result = kHandler(table, pointer, rest...);
    if (result != hipSuccess && known) Allocations::get().add(reinterpret_cast<void*>(known->address.address), known->size.count);
    return result;
  }
};

// What is not of the program's own calls the runtime may know all the same.
hipError_t get_address_range(Table& table, hipDeviceptr_t* base, size_t* size, hipDeviceptr_t pointer) {
  const auto found = Allocations::get().find(pointer);
  if (!found && table.ends_in_runtime()) return MNEME_REAL(table, hipMemGetAddressRange)(base, size, pointer);
  if (!found) return hipErrorNotFound;
  if (base) *base = reinterpret_cast<void*>(found->address.address);
  if (size) *size = found->size.count;
  return hipSuccess;
}
hipError_t get_size(Table& table, void* pointer, size_t* size) {
  if (!pointer || !size) return hipErrorInvalidValue;
  const auto found = Allocations::get().find(pointer);
  if (!found && table.ends_in_runtime()) return MNEME_REAL(table, hipMemPtrGetInfo)(pointer, size);
  if (!found || found->address.address != reinterpret_cast<uint64_t>(pointer)) return hipErrorInvalidValue;
  *size = found->size.count;
  return hipSuccess;
}

// Flags that CUDA has not: where pages lie, and what caches do with them. Memory that is coherent serves programs that ask for
// less.
constexpr unsigned kHostFlags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined;
constexpr unsigned kHostFlagsOfHip = hipHostMallocNumaUser | hipHostMallocCoherent | hipHostMallocNonCoherent;

hipError_t allocate_host(Table& table, void** pointer, size_t size, unsigned flags) {
  if (!table.ends_in_runtime() && (flags & ~(kHostFlags | kHostFlagsOfHip))) return hipErrorInvalidValue;
  if (size == 0 && pointer) return *pointer = nullptr, hipSuccess;
  return to_hip(MNEME_CUDA(table, cudaHostAlloc)(pointer, size, flags & kHostFlags));
}

hipError_t register_host(Table& table, void* pointer, size_t size, unsigned flags) {
  constexpr unsigned kKnown = hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterIoMemory;
  if (!table.ends_in_runtime() && (flags & ~(kKnown | hipExtHostRegisterCoarseGrained))) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaHostRegister)(pointer, size, flags & kKnown));
}

// Not as a row: of memory that it has served an interposer asks for what the program would have got.
hipError_t get_host_flags(Table& table, unsigned* flags, void* pointer) {
  return to_hip(MNEME_CUDA(table, cudaHostGetFlags)(flags, pointer));
}

// Fine-grained memory, and memory of signals, are kinds of device memory. Of a GPU's an interposer has none: it is told of it as
// of memory that comes from elsewhere.
hipError_t allocate_with_flags(Table& table, void** pointer, size_t size, unsigned flags) {
  if (table.ends_in_runtime() && flags != hipDeviceMallocDefault) return give_external(table, pointer, size);
  if (flags & ~static_cast<unsigned>(hipDeviceMallocFinegrained | hipMallocSignalMemory)) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaMalloc)(pointer, size));
}

hipError_t allocate_managed(Table& table, void** pointer, size_t size, unsigned flags) {
  return to_hip(MNEME_CUDA(table, cudaMallocManaged)(pointer, size, flags));
}

hipError_t allocate_async(Table& table, void** pointer, size_t size, hipStream_t stream) {
  return to_hip(MNEME_CUDA(table, cudaMallocAsync)(pointer, size, std::bit_cast<cudaStream_t>(stream)));
}

hipError_t allocate_from_pool(Table& table, void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  return to_hip(MNEME_CUDA(table, cudaMallocFromPoolAsync)(pointer, size, std::bit_cast<cudaMemPool_t>(pool),
                                                           std::bit_cast<cudaStream_t>(stream)));
}

// The driver's, which says how large the elements are.
hipError_t allocate_pitch(Table& table, hipDeviceptr_t* pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (element != 4 && element != 8 && element != 16) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaMallocPitch)(pointer, pitch, width, height));
}

// A device by its number, or the host by hipCpuDeviceId.
cudaMemLocation place(int device) {
  cudaMemLocation location{};
  location.type = device == hipCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == hipCpuDeviceId ? 0 : device;
  return location;
}

hipError_t advise(Table& table, const void* pointer, size_t count, hipMemoryAdvise advice, int device) {
  if (advice == hipMemAdviseSetCoarseGrain || advice == hipMemAdviseUnsetCoarseGrain) return hipSuccess;  // what caches do
  return to_hip(MNEME_CUDA(table, cudaMemAdvise)(pointer, count, std::bit_cast<cudaMemoryAdvise>(advice), place(device)));
}

hipError_t prefetch(Table& table, const void* pointer, size_t count, int device, hipStream_t stream) {
  return to_hip(MNEME_CUDA(table, cudaMemPrefetchAsync)(pointer, count, place(device), 0, std::bit_cast<cudaStream_t>(stream)));
}

hipError_t get_attributes(Table& table, hipPointerAttribute_t* attributes, const void* pointer) {
  if (!attributes) return hipErrorInvalidValue;
  cudaPointerAttributes found{};
  if (cudaError_t code = MNEME_CUDA(table, cudaPointerGetAttributes)(&found, pointer); code != cudaSuccess) return to_hip(code);
  if (hipError_t result = fill_attributes(*attributes, found); result != hipSuccess) return result;
  unsigned flags = 0;
  if (found.type == cudaMemoryTypeHost && MNEME_CUDA(table, cudaHostGetFlags)(&flags, found.hostPointer) == cudaSuccess)
    attributes->allocationFlags = flags;
  return hipSuccess;
}

template <typename T>
hipError_t write_attribute(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return hipSuccess;
}

hipError_t get_attribute(Table& table, void* data, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
  hipPointerAttribute_t all{};
  if (!data) return hipErrorInvalidValue;
  if (hipError_t result = get_attributes(table, &all, pointer); result != hipSuccess) return result;
  const auto range = Allocations::get().find(pointer);
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: return write_attribute(data, memory_type_of(all));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: return write_attribute(data, all.devicePointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER: return write_attribute(data, all.hostPointer);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: return write_attribute(data, all.isManaged != 0);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return write_attribute(data, all.device);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return range ? write_attribute(data, range->address.address) : hipErrorInvalidValue;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: return range ? write_attribute(data, range->size.count) : hipErrorInvalidValue;
    case HIP_POINTER_ATTRIBUTE_MAPPED: return write_attribute(data, true);
    default: return hipErrorNotSupported;
  }
}
hipError_t get_some_attributes(Table& table, unsigned count, hipPointer_attribute* attributes, void** data,
                               hipDeviceptr_t pointer) {
  if (!attributes || !data) return hipErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i)
    if (hipError_t result = get_attribute(table, data[i], attributes[i], pointer); result != hipSuccess) return result;
  return hipSuccess;
}

// What an interposer asks of a pointer. HIP refuses one that it does not know, of which CUDA says just that.
cudaError_t end_of_get_attributes(Table& table, cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return cudaErrorInvalidValue;
  hipPointerAttribute_t found{};
  *attributes = {};
  const hipError_t result = MNEME_REAL(table, hipPointerGetAttributes)(&found, pointer);
  if (result == hipErrorInvalidValue) return cudaSuccess;
  if (result != hipSuccess) return to_cuda(result);
  *attributes = to_cuda_attributes(found);
  return cudaSuccess;
}

#define MNEME_PAIR(hip, cuda) MNEME_CALL_##hip, decltype(&::hip), MNEME_CALL_##cuda, decltype(&::cuda)
#define MNEME_KEPT_ROW(hip, cuda) \
  RowHook<MNEME_CALL_##hip, &Kept<&Row<MNEME_PAIR(hip, cuda)>::call>::call, Inverse<MNEME_PAIR(hip, cuda)>>
#define MNEME_KEPT(hip, handler) Hook<MNEME_CALL_##hip, &Noted<&Kept<&handler>::call>::call>
#define MNEME_KEPT_THROUGH(hip, handler, cuda) \
  Hook<MNEME_CALL_##hip, &Kept<&NotedAsMade<MNEME_CALL_##hip, &handler, MNEME_CALL_##cuda>::call>::call>
#define MNEME_FORGOTTEN_ROW(hip, cuda) \
  RowHook<MNEME_CALL_##hip, &Forgotten<&Row<MNEME_PAIR(hip, cuda)>::call>::call, Inverse<MNEME_PAIR(hip, cuda)>>
using Rows = HookList<
    MNEME_KEPT_ROW(hipMalloc, cudaMalloc), MNEME_KEPT_ROW(hipMallocHost, cudaMallocHost),
    MNEME_KEPT_ROW(hipMemAllocHost, cudaMallocHost), MNEME_KEPT_ROW(hipMallocPitch, cudaMallocPitch),
    MNEME_KEPT_ROW(hipMalloc3D, cudaMalloc3D), MNEME_KEPT_THROUGH(hipHostMalloc, allocate_host, cudaHostAlloc),
    MNEME_KEPT_THROUGH(hipHostAlloc, allocate_host, cudaHostAlloc),
    MNEME_KEPT_THROUGH(hipExtMallocWithFlags, allocate_with_flags, cudaExternalMemoryGetMappedBuffer),
    MNEME_KEPT_THROUGH(hipMallocManaged, allocate_managed, cudaMallocManaged),
    MNEME_KEPT_THROUGH(hipMallocAsync, allocate_async, cudaMallocAsync),
    MNEME_KEPT_THROUGH(hipMallocFromPoolAsync, allocate_from_pool, cudaMallocFromPoolAsync),
    MNEME_KEPT_THROUGH(hipMemAllocPitch, allocate_pitch, cudaMallocPitch), MNEME_FORGOTTEN_ROW(hipFree, cudaFree),
    MNEME_FORGOTTEN_ROW(hipFreeHost, cudaFreeHost), MNEME_FORGOTTEN_ROW(hipHostFree, cudaFreeHost),
    MNEME_FORGOTTEN_ROW(hipFreeAsync, cudaFreeAsync), MNEME_OWN(hipMemGetAddressRange, get_address_range),
    MNEME_OWN(hipMemPtrGetInfo, get_size), MNEME_ROW(hipHostUnregister, cudaHostUnregister),
    MNEME_ROW(hipHostGetDevicePointer, cudaHostGetDevicePointer), MNEME_OWN(hipHostGetFlags, get_host_flags),
    MNEME_ROW(hipMemGetInfo, cudaMemGetInfo), MNEME_ROW(hipMemPoolCreate, cudaMemPoolCreate),
    MNEME_ROW(hipMemPoolDestroy, cudaMemPoolDestroy), MNEME_ROW(hipMemPoolTrimTo, cudaMemPoolTrimTo),
    MNEME_ROW(hipMemPoolSetAttribute, cudaMemPoolSetAttribute), MNEME_ROW(hipMemPoolGetAttribute, cudaMemPoolGetAttribute),
    MNEME_ROW(hipMemPoolSetAccess, cudaMemPoolSetAccess), MNEME_ROW(hipMemPoolGetAccess, cudaMemPoolGetAccess),
    MNEME_ROW(hipDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool), MNEME_ROW(hipDeviceGetMemPool, cudaDeviceGetMemPool),
    MNEME_ROW(hipDeviceSetMemPool, cudaDeviceSetMemPool), MNEME_ROW(hipMemRangeGetAttribute, cudaMemRangeGetAttribute),
    MNEME_ROW(hipMemRangeGetAttributes, cudaMemRangeGetAttributes), MNEME_ROW(hipStreamAttachMemAsync, cudaStreamAttachMemAsync),
    MNEME_OWN_THROUGH(hipHostRegister, register_host, cudaHostRegister), MNEME_EMULATED(hipMemAdvise, advise),
    MNEME_EMULATED(hipMemPrefetchAsync, prefetch), MNEME_EMULATED(hipPointerGetAttributes, get_attributes),
    MNEME_EMULATED(hipPointerGetAttribute, get_attribute), MNEME_EMULATED(hipDrvPointerGetAttributes, get_some_attributes)>;

using Allocate = hipError_t (*)(void**, size_t, unsigned);
using AllocateAsync = hipError_t (*)(void**, size_t, hipStream_t);
using AllocateFromPool = hipError_t (*)(void**, size_t, hipMemPool_t, hipStream_t);
using Ends = HookList<MNEME_END(hipHostMalloc, cudaHostAlloc, Allocate), MNEME_END(hipMallocManaged, cudaMallocManaged, Allocate),
                      MNEME_END(hipHostRegister, cudaHostRegister, hipError_t (*)(void*, size_t, unsigned)),
                      MNEME_END(hipMallocAsync, cudaMallocAsync, AllocateAsync),
                      MNEME_END(hipMallocFromPoolAsync, cudaMallocFromPoolAsync, AllocateFromPool),
                      MNEME_END(hipHostGetFlags, cudaHostGetFlags, hipError_t (*)(unsigned*, void*)),
                      MNEME_WRITTEN_END(hipPointerGetAttributes, cudaPointerGetAttributes, end_of_get_attributes)>;

}  // namespace

void install_memory(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
