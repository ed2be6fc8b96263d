// Allocation, and what can be asked about memory.
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/device/address_space.h"

namespace mneme::emulation {
namespace {

constexpr size_t kPitchAlignment = 512;

MemoryTable& memory() { return Context::get().memory(); }

cudaError_t allocate(void** pointer, size_t size, MemoryKind kind, unsigned flags = 0) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  *pointer = memory().allocate(size, {.kind = kind, .flags = flags});
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t release(void* pointer, std::initializer_list<MemoryKind> accepts) {
  return !pointer || memory().free(pointer, accepts) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t malloc_device(void** pointer, size_t size) { return allocate(pointer, size, MemoryKind::device); }

cudaError_t malloc_managed(void** pointer, size_t size, unsigned flags) {
  if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) return cudaErrorInvalidValue;
  return allocate(pointer, size, MemoryKind::managed);
}

cudaError_t malloc_pitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (!pointer || !pitch) return cudaErrorInvalidValue;
  *pointer = nullptr;
  *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  size_t size = 0;
  if (*pitch < width || __builtin_mul_overflow(*pitch, height, &size)) return cudaErrorMemoryAllocation;
  return allocate(pointer, size, MemoryKind::device);
}

cudaError_t malloc_3d(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (!pitched) return cudaErrorInvalidValue;
  void* pointer = nullptr;
  size_t pitch = 0, rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorMemoryAllocation;
  cudaError_t result = malloc_pitch(&pointer, &pitch, extent.width, rows);
  *pitched = {pointer, pitch, extent.width, extent.height};
  return result;
}

cudaError_t free_device(void* pointer) { return release(pointer, {MemoryKind::device, MemoryKind::managed}); }

cudaError_t malloc_host(void** pointer, size_t size) { return allocate(pointer, size, MemoryKind::host); }
cudaError_t host_alloc(void** pointer, size_t size, unsigned flags) { return allocate(pointer, size, MemoryKind::host, flags); }
cudaError_t free_host(void* pointer) { return release(pointer, {MemoryKind::host}); }

cudaError_t host_register(void* pointer, size_t size, unsigned flags) {
  if (!pointer || size == 0) return cudaErrorInvalidValue;
  return memory().add_registered(pointer, size, flags) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t host_unregister(void* pointer) {
  return memory().free(pointer, {MemoryKind::registered}) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

bool is_host(const std::optional<MemoryUse>& found) {
  return found && (found->kind == MemoryKind::host || found->kind == MemoryKind::registered);
}

cudaError_t host_get_device_pointer(void** device_pointer, void* pointer, unsigned) {
  if (!device_pointer || !is_host(memory().find(pointer))) return cudaErrorInvalidValue;
  *device_pointer = pointer;
  return cudaSuccess;
}

cudaError_t host_get_flags(unsigned* flags, void* pointer) {
  std::optional<MemoryUse> found = memory().find(pointer);
  if (!flags || !is_host(found)) return cudaErrorInvalidValue;
  *flags = found->flags;
  return cudaSuccess;
}

cudaError_t mem_get_info(size_t* available, size_t* total) {
  if (!available || !total) return cudaErrorInvalidValue;
  *total = Context::get().device().properties().total_memory.count;
  *available = *total - memory().allocated();
  return cudaSuccess;
}

// Where the recorder puts device memory, and emulation device globals.
bool in_fixed_ranges(const void* pointer) {
  DevicePtr address(reinterpret_cast<uint64_t>(pointer));
  return address >= kDefaultAddressSpaceBase &&
         address < kEmulatedGlobalsBase + Bytes(GlobalWindow::kBytes.count * GlobalWindow::kCount);
}

cudaError_t pointer_get_attributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return cudaErrorInvalidValue;
  *attributes = {};
  void* same = const_cast<void*>(pointer);
  std::optional<MemoryUse> found = memory().find(pointer);
  if (!found && in_fixed_ranges(pointer)) found.emplace();
  attributes->device = found ? 0 : -2;
  attributes->hostPointer = same;
  attributes->type = cudaMemoryTypeUnregistered;
  if (!found) return cudaSuccess;
  attributes->devicePointer = same;
  switch (found->kind) {
    case MemoryKind::device:
      attributes->type = cudaMemoryTypeDevice;
      attributes->hostPointer = nullptr;
      break;
    case MemoryKind::managed: attributes->type = cudaMemoryTypeManaged; break;
    case MemoryKind::host:
    case MemoryKind::registered: attributes->type = cudaMemoryTypeHost; break;
  }
  return cudaSuccess;
}

}  // namespace

void fill_memory(Slots& slots) {
  MNEME_EMULATE(cudaMalloc, malloc_device);
  MNEME_EMULATE(cudaMallocManaged, malloc_managed);
  MNEME_EMULATE(cudaMallocPitch, malloc_pitch);
  MNEME_EMULATE(cudaMalloc3D, malloc_3d);
  MNEME_EMULATE(cudaFree, free_device);
  MNEME_EMULATE(cudaMallocHost, malloc_host);
  MNEME_EMULATE(cudaHostAlloc, host_alloc);
  MNEME_EMULATE(cudaFreeHost, free_host);
  MNEME_EMULATE(cudaHostRegister, host_register);
  MNEME_EMULATE(cudaHostUnregister, host_unregister);
  MNEME_EMULATE(cudaHostGetDevicePointer, host_get_device_pointer);
  MNEME_EMULATE(cudaHostGetFlags, host_get_flags);
  MNEME_EMULATE(cudaMemGetInfo, mem_get_info);
  MNEME_EMULATE(cudaPointerGetAttributes, pointer_get_attributes);
}

}  // namespace mneme::emulation
