// The host's memory that kernels reach: pinned, mapped, registered. On the devices that are recorded the two sides see it at one
// address, whatever the flags.
#include "mneme/record/host_memory_calls.h"
#include "mneme/record/table.h"

namespace mneme {
namespace {

constexpr unsigned kKnownFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr uint64_t kPage = kHostPage.count;

void* pointer_to(DevicePtr address) { return reinterpret_cast<void*>(address.address); }

// A failure that the program is not to find: what it asked for is tried in another way.
template <typename Call>
bool succeeds(Table& table, Call call) {
  const bool pending = MNEME_NEXT(table, cudaPeekAtLastError)() != cudaSuccess;
  if (call() == cudaSuccess) return true;
  if (!pending) (void)MNEME_NEXT(table, cudaGetLastError)();
  return false;
}

template <typename Original>
cudaError_t allocate(Table& table, void** out, size_t size, unsigned flags, Original original) {
  const auto pin = [&](void* pointer, size_t whole) {
    return succeeds(table, [&] {
      return MNEME_NEXT(table, cudaHostRegister)(pointer, whole, cudaHostRegisterPortable | cudaHostRegisterMapped);
    });
  };
  return allocate_host_memory(out, size, flags, kKnownFlags, pin, original);
}

cudaError_t on_host_alloc(Table& table, void** out, size_t size, unsigned flags) {
  return allocate(table, out, size, flags, [&] { return MNEME_NEXT(table, cudaHostAlloc)(out, size, flags); });
}
cudaError_t on_malloc_host(Table& table, void** out, size_t size) {
  return allocate(table, out, size, 0, [&] { return MNEME_NEXT(table, cudaMallocHost)(out, size); });
}

cudaError_t on_free_host(Table& table, void* pointer) {
  const auto fault = [&] {  // of this device, or of another one
    const cudaError_t code = MNEME_NEXT(table, cudaDeviceSynchronize)();
    return code == cudaSuccess ? cudaErrorLaunchFailure : code;
  };
  return free_host_memory(
      table, pointer, cudaErrorInvalidValue, [&] { return MNEME_NEXT(table, cudaFreeHost)(pointer); }, fault,
      [&] { return MNEME_NEXT(table, cudaHostUnregister)(pointer); });
}

cudaError_t on_host_register(Table& table, void* pointer, size_t size, unsigned flags) {
  const cudaError_t code = MNEME_NEXT(table, cudaHostRegister)(pointer, size, flags);
  if (code == cudaSuccess) add_registered_memory(pointer, size, flags, (flags & cudaHostRegisterIoMemory) != 0);
  return code;
}
cudaError_t on_host_unregister(Table& table, void* pointer) {
  return unregister_memory(pointer, cudaErrorHostMemoryNotRegistered,
                           [&] { return MNEME_NEXT(table, cudaHostUnregister)(pointer); });
}

// The vendor knows served memory as registered: what it says of memory that it allocates itself with the same flags is asked of
// it.
cudaError_t on_host_get_flags(Table& table, unsigned* flags, void* pointer) {
  const auto pinned = find_served_memory(pointer);
  void* probe = nullptr;
  if (!pinned || !succeeds(table, [&] { return MNEME_NEXT(table, cudaHostAlloc)(&probe, kPage, pinned->flags); }))
    return MNEME_NEXT(table, cudaHostGetFlags)(flags, pointer);
  cudaError_t code = MNEME_NEXT(table, cudaHostGetFlags)(flags, probe);
  (void)MNEME_NEXT(table, cudaFreeHost)(probe);
  return code;
}

using Hooks =
    HookList<Hook<MNEME_CALL_cudaHostAlloc, on_host_alloc>, Hook<MNEME_CALL_cudaMallocHost, on_malloc_host>,
             Hook<MNEME_CALL_cudaFreeHost, on_free_host>, Hook<MNEME_CALL_cudaHostRegister, on_host_register>,
             Hook<MNEME_CALL_cudaHostUnregister, on_host_unregister>, Hook<MNEME_CALL_cudaHostGetFlags, on_host_get_flags>>;

}  // namespace

void install_host_memory_hooks(Table& table) { Hooks::install(table); }

void release_host_memory(Table& table) {
  HostMemory& host = recorder()->host_memory();
  const std::vector<DevicePtr> pinned = host.clear();
  if (!pinned.empty()) (void)succeeds(table, [&] { return MNEME_NEXT(table, cudaDeviceSynchronize)(); });
  for (DevicePtr address : pinned) {
    if (!host.owns(address.address)) continue;
    (void)succeeds(table, [&] { return MNEME_NEXT(table, cudaHostUnregister)(pointer_to(address)); });
    host.take_back(address);
  }
}

}  // namespace mneme
