// The host's memory that kernels reach: pinned, mapped, registered. On the devices that are recorded the two sides see it at one
// address, whatever the flags.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

constexpr unsigned kKnownFlags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr uint64_t kPage = kHostPage.count;

DevicePtr address_of(const void* pointer) { return DevicePtr(reinterpret_cast<uint64_t>(pointer)); }

template <typename Original>
CUresult allocate(void** out, size_t size, unsigned flags, Original original) {
  HostMemory& host = recorder()->host_memory();
  if (out && size != 0 && (flags & ~kKnownFlags) == 0 && recorder()->is_recording()) {
    if (auto memory = host.serve(Bytes(size)); memory.ok()) {
      void* const pointer = reinterpret_cast<void*>(memory->address);
      const CUresult pinned = MNEME_DRIVER(cuMemHostRegister_v2, cuMemHostRegister_v2)(
          pointer, (size + kPage - 1) / kPage * kPage, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
      if (pinned == CUDA_SUCCESS) {
        host.add(*memory, Bytes(size), flags);
        *out = pointer;
        return CUDA_SUCCESS;
      }
      host.take_back(*memory);
    }
  }
  const CUresult code = original();
  if (code == CUDA_SUCCESS && out) recorder()->remember_foreign(address_of(*out).address, size, NotRecorded::host_memory);
  return code;
}

CUresult on_host_alloc(void** out, size_t size, unsigned flags) {
  return allocate(out, size, flags, [&] { return MNEME_DRIVER(cuMemHostAlloc, cuMemHostAlloc)(out, size, flags); });
}
CUresult on_alloc_host(void** out, size_t size) {
  return allocate(out, size, 0, [&] { return MNEME_DRIVER(cuMemAllocHost_v2, cuMemAllocHost_v2)(out, size); });
}

CUresult on_free_host(void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = address_of(pointer);
  if (!pointer || !host.owns(address.address)) {
    recorder()->forget_foreign(address.address);
    return MNEME_DRIVER(cuMemFreeHost, cuMemFreeHost)(pointer);
  }
  const auto pinned = host.find(address);
  if (!pinned) return CUDA_ERROR_INVALID_VALUE;
  Gate::Use use(recorder()->gate());
  // While a stream is captured nothing may wait for the device, and what kernels may be using stays: its place is not used again.
  const bool waits = !recorder()->in_stream_capture();
  if (waits && !recorder()->wait_for_devices(front()).ok())
    return MNEME_DRIVER(cuMemFreeHost, cuMemFreeHost)(pointer);  // which tells the fault
  recorder()->forget_annotations({address, pinned->size});
  host.remove(address);
  if (!waits) return CUDA_SUCCESS;
  const CUresult code = MNEME_DRIVER(cuMemHostUnregister, cuMemHostUnregister)(pointer);
  host.take_back(address);
  return code;
}

CUresult on_host_register(void* pointer, size_t size, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuMemHostRegister_v2, cuMemHostRegister_v2)(pointer, size, flags);
  if (code != CUDA_SUCCESS) return code;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0)  // another device's registers
    recorder()->remember_foreign(address_of(pointer).address, size, NotRecorded::host_memory);
  else
    recorder()->host_memory().add(address_of(pointer), Bytes(size), flags);
  return code;
}

CUresult on_host_unregister(void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = address_of(pointer);
  if (host.owns(address.address)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;  // not by the program
  Gate::Use use(recorder()->gate());
  if (auto pinned = host.remove(address)) recorder()->forget_annotations({address, pinned->size});
  recorder()->forget_foreign(address.address);
  return MNEME_DRIVER(cuMemHostUnregister, cuMemHostUnregister)(pointer);
}

// The driver knows served memory as registered. Of memory that it allocates itself it tells the flags that were asked for, and
// that it is mapped.
CUresult on_host_get_flags(unsigned* flags, void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const auto memory = host.owns(address_of(pointer).address) ? host.find_around(address_of(pointer)) : std::nullopt;
  const auto pinned = memory ? host.find(memory->address) : std::nullopt;
  if (!pinned || !flags) return MNEME_DRIVER(cuMemHostGetFlags, cuMemHostGetFlags)(flags, pointer);
  *flags = pinned->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> host_memory_hooks() {
  return {MNEME_HOOK(cuMemHostAlloc, on_host_alloc),
          MNEME_HOOK(cuMemAllocHost_v2, on_alloc_host),
          MNEME_HOOK(cuMemFreeHost, on_free_host),
          MNEME_HOOK(cuMemHostRegister_v2, on_host_register),
          MNEME_HOOK(cuMemHostUnregister, on_host_unregister),
          MNEME_HOOK(cuMemHostGetFlags, on_host_get_flags)};
}

}  // namespace mneme::driver
