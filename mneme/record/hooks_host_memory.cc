// The host's memory that kernels reach: pinned, mapped, registered. On the devices that are recorded the two sides see it at one
// address, whatever the flags.
#include "mneme/record/table.h"

namespace mneme {
namespace {

constexpr unsigned kKnownFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr uint64_t kPage = kHostPage.count;

DevicePtr address_of(const void* pointer) { return DevicePtr(reinterpret_cast<uint64_t>(pointer)); }
void* pointer_to(DevicePtr address) { return reinterpret_cast<void*>(address.address); }

// A failure that the program is not to find: what it asked for is tried in another way.
template <typename Call>
bool succeeds(Table& table, Call call) {
  const bool pending = MNEME_NEXT(table, cudaPeekAtLastError)() != cudaSuccess;
  if (call() == cudaSuccess) return true;
  if (!pending) (void)MNEME_NEXT(table, cudaGetLastError)();
  return false;
}

template <typename Vendor>
cudaError_t allocate(Table& table, void** out, size_t size, unsigned flags, Vendor vendor) {
  HostMemory& host = recorder()->host_memory();
  if (out && size != 0 && (flags & ~kKnownFlags) == 0 && recorder()->is_recording()) {
    if (auto memory = host.serve(Bytes(size)); memory.ok()) {
      const bool pinned = succeeds(table, [&] {
        return MNEME_NEXT(table, cudaHostRegister)(pointer_to(*memory), (size + kPage - 1) / kPage * kPage,
                                                   cudaHostRegisterPortable | cudaHostRegisterMapped);
      });
      if (pinned) {
        host.add(*memory, Bytes(size), flags);
        *out = pointer_to(*memory);
        return cudaSuccess;
      }
      host.take_back(*memory);
    }
  }
  cudaError_t code = vendor();
  if (code == cudaSuccess && out) recorder()->remember_foreign(address_of(*out).address, size, NotRecorded::host_memory);
  return code;
}

cudaError_t on_host_alloc(Table& table, void** out, size_t size, unsigned flags) {
  return allocate(table, out, size, flags, [&] { return MNEME_NEXT(table, cudaHostAlloc)(out, size, flags); });
}
cudaError_t on_malloc_host(Table& table, void** out, size_t size) {
  return allocate(table, out, size, 0, [&] { return MNEME_NEXT(table, cudaMallocHost)(out, size); });
}

cudaError_t on_free_host(Table& table, void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = address_of(pointer);
  if (!pointer || !host.owns(address.address)) {
    recorder()->forget_foreign(address.address);
    return MNEME_NEXT(table, cudaFreeHost)(pointer);
  }
  auto pinned = host.find(address);
  if (!pinned) return cudaErrorInvalidValue;
  Gate::Use use(recorder()->gate());
  // While a stream is captured nothing may wait for the device, and what kernels may be using stays: its place is not used again.
  const bool waits = !recorder()->in_stream_capture();
  if (waits && !recorder()->wait_for_devices(table).ok()) {  // the fault is of this device, or of another one
    const cudaError_t code = MNEME_NEXT(table, cudaDeviceSynchronize)();
    return code == cudaSuccess ? cudaErrorLaunchFailure : code;
  }
  recorder()->forget_annotations({address, pinned->size});
  host.remove(address);
  if (!waits) return cudaSuccess;
  cudaError_t code = MNEME_NEXT(table, cudaHostUnregister)(pointer);
  host.take_back(address);
  return code;
}

cudaError_t on_host_register(Table& table, void* pointer, size_t size, unsigned flags) {
  cudaError_t code = MNEME_NEXT(table, cudaHostRegister)(pointer, size, flags);
  if (code != cudaSuccess) return code;
  if ((flags & cudaHostRegisterIoMemory) != 0)  // another device's registers
    recorder()->remember_foreign(address_of(pointer).address, size, NotRecorded::host_memory);
  else
    recorder()->host_memory().add(address_of(pointer), Bytes(size), flags);
  return code;
}

cudaError_t on_host_unregister(Table& table, void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = address_of(pointer);
  if (host.owns(address.address)) return cudaErrorHostMemoryNotRegistered;  // not by the program
  Gate::Use use(recorder()->gate());
  if (auto pinned = host.remove(address)) recorder()->forget_annotations({address, pinned->size});
  recorder()->forget_foreign(address.address);
  return MNEME_NEXT(table, cudaHostUnregister)(pointer);
}

// The vendor knows served memory as registered: what it says of memory that it allocates itself with the same flags is asked of
// it.
cudaError_t on_host_get_flags(Table& table, unsigned* flags, void* pointer) {
  HostMemory& host = recorder()->host_memory();
  auto memory = host.owns(address_of(pointer).address) ? host.find_around(address_of(pointer)) : std::nullopt;
  auto pinned = memory ? host.find(memory->address) : std::nullopt;
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
