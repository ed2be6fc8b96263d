// Memory of the device, of the host, managed and of pools.
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

// Flags that CUDA has not: where pages lie, and what caches do with them. Memory that is coherent serves programs that ask for less.
constexpr unsigned kHostFlags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined;
constexpr unsigned kHostFlagsOfHip = hipHostMallocNumaUser | hipHostMallocCoherent | hipHostMallocNonCoherent;

hipError_t allocate_host(Table& table, void** pointer, size_t size, unsigned flags) {
  if (flags & ~(kHostFlags | kHostFlagsOfHip)) return hipErrorInvalidValue;
  if (size == 0 && pointer) return *pointer = nullptr, hipSuccess;
  return to_hip(MNEME_CUDA(table, cudaHostAlloc)(pointer, size, flags & kHostFlags));
}

hipError_t register_host(Table& table, void* pointer, size_t size, unsigned flags) {
  constexpr unsigned kKnown = hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterIoMemory;
  if (flags & ~(kKnown | hipExtHostRegisterCoarseGrained)) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaHostRegister)(pointer, size, flags & kKnown));
}

// Fine-grained memory, and memory of signals, are kinds of device memory.
hipError_t allocate_with_flags(Table& table, void** pointer, size_t size, unsigned flags) {
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
  return to_hip(
      MNEME_CUDA(table, cudaMemPrefetchAsync)(pointer, count, place(device), 0, std::bit_cast<cudaStream_t>(stream)));
}

hipError_t get_attributes(Table& table, hipPointerAttribute_t* attributes, const void* pointer) {
  if (!attributes) return hipErrorInvalidValue;
  cudaPointerAttributes found{};
  if (cudaError_t code = MNEME_CUDA(table, cudaPointerGetAttributes)(&found, pointer); code != cudaSuccess) return to_hip(code);
  if (found.type == cudaMemoryTypeUnregistered) return hipErrorInvalidValue;  // as HIP has it
  *attributes = {.memoryType = found.type == cudaMemoryTypeHost ? hipMemoryTypeHost : hipMemoryTypeDevice,
                 .device = found.device,
                 .devicePointer = found.devicePointer,
                 .hostPointer = found.hostPointer,
                 .isManaged = found.type == cudaMemoryTypeManaged,
                 .allocationFlags = 0};
  unsigned flags = 0;
  if (found.type == cudaMemoryTypeHost && MNEME_CUDA(table, cudaHostGetFlags)(&flags, found.hostPointer) == cudaSuccess)
    attributes->allocationFlags = flags;
  return hipSuccess;
}

using Rows = HookList<
    MNEME_ROW(hipFree, cudaFree), MNEME_ROW(hipMallocHost, cudaMallocHost), MNEME_ROW(hipMemAllocHost, cudaMallocHost),
    MNEME_ROW(hipFreeHost, cudaFreeHost), MNEME_ROW(hipHostFree, cudaFreeHost), MNEME_ROW(hipHostUnregister, cudaHostUnregister),
    MNEME_ROW(hipHostGetDevicePointer, cudaHostGetDevicePointer), MNEME_ROW(hipHostGetFlags, cudaHostGetFlags),
    MNEME_ROW(hipMalloc, cudaMalloc), MNEME_ROW(hipMallocPitch, cudaMallocPitch), MNEME_ROW(hipMalloc3D, cudaMalloc3D),
    MNEME_ROW(hipMemGetInfo, cudaMemGetInfo), MNEME_ROW(hipFreeAsync, cudaFreeAsync),
    MNEME_ROW(hipMemPoolCreate, cudaMemPoolCreate), MNEME_ROW(hipMemPoolDestroy, cudaMemPoolDestroy),
    MNEME_ROW(hipMemPoolTrimTo, cudaMemPoolTrimTo), MNEME_ROW(hipMemPoolSetAttribute, cudaMemPoolSetAttribute),
    MNEME_ROW(hipMemPoolGetAttribute, cudaMemPoolGetAttribute), MNEME_ROW(hipMemPoolSetAccess, cudaMemPoolSetAccess),
    MNEME_ROW(hipMemPoolGetAccess, cudaMemPoolGetAccess), MNEME_ROW(hipDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool),
    MNEME_ROW(hipDeviceGetMemPool, cudaDeviceGetMemPool), MNEME_ROW(hipDeviceSetMemPool, cudaDeviceSetMemPool),
    MNEME_ROW(hipMemRangeGetAttribute, cudaMemRangeGetAttribute), MNEME_ROW(hipMemRangeGetAttributes, cudaMemRangeGetAttributes),
    MNEME_ROW(hipStreamAttachMemAsync, cudaStreamAttachMemAsync), MNEME_OWN(hipHostMalloc, allocate_host),
    MNEME_OWN(hipHostAlloc, allocate_host), MNEME_OWN(hipHostRegister, register_host),
    MNEME_OWN(hipExtMallocWithFlags, allocate_with_flags), MNEME_OWN(hipMallocManaged, allocate_managed),
    MNEME_OWN(hipMallocAsync, allocate_async), MNEME_OWN(hipMallocFromPoolAsync, allocate_from_pool),
    MNEME_OWN(hipMemAllocPitch, allocate_pitch), MNEME_OWN(hipMemAdvise, advise), MNEME_OWN(hipMemPrefetchAsync, prefetch),
    MNEME_OWN(hipPointerGetAttributes, get_attributes)>;

}  // namespace

void install_memory(const Table& table) { Rows::install(table); }

}  // namespace mneme::hip
