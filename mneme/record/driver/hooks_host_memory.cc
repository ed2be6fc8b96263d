// The host's memory that kernels reach: pinned, mapped, registered. On the devices that are recorded the two sides see it at one
// address, whatever the flags.
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/host_memory_calls.h"

namespace mneme::driver {
namespace {

constexpr unsigned kKnownFlags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;

template <typename Original>
CUresult allocate(void** out, size_t size, unsigned flags, Original original) {
  const auto pin = [](void* pointer, size_t whole) {
    return MNEME_DRIVER(cuMemHostRegister_v2, cuMemHostRegister_v2)(
               pointer, whole, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS;
  };
  return allocate_host_memory(out, size, flags, kKnownFlags, pin, original);
}

CUresult on_host_alloc(void** out, size_t size, unsigned flags) {
  return allocate(out, size, flags, [&] { return MNEME_DRIVER(cuMemHostAlloc, cuMemHostAlloc)(out, size, flags); });
}
CUresult on_alloc_host(void** out, size_t size) {
  return allocate(out, size, 0, [&] { return MNEME_DRIVER(cuMemAllocHost_v2, cuMemAllocHost_v2)(out, size); });
}

CUresult on_free_host(void* pointer) {
  const auto original = [&] { return MNEME_DRIVER(cuMemFreeHost, cuMemFreeHost)(pointer); };  // which tells a fault, too
  return free_host_memory(front(), pointer, CUDA_ERROR_INVALID_VALUE, original, original,
                          [&] { return MNEME_DRIVER(cuMemHostUnregister, cuMemHostUnregister)(pointer); });
}

CUresult on_host_register(void* pointer, size_t size, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuMemHostRegister_v2, cuMemHostRegister_v2)(pointer, size, flags);
  if (code == CUDA_SUCCESS) add_registered_memory(pointer, size, flags, (flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0);
  return code;
}
CUresult on_host_unregister(void* pointer) {
  return unregister_memory(pointer, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                           [&] { return MNEME_DRIVER(cuMemHostUnregister, cuMemHostUnregister)(pointer); });
}

// The driver knows served memory as registered. Of memory that it allocates itself it tells the flags that were asked for, and
// that it is mapped.
CUresult on_host_get_flags(unsigned* flags, void* pointer) {
  const auto pinned = find_served_memory(pointer);
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
