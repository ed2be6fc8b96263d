// Allocation kinds. The list at the end is where one is added: with a handler that takes its memory from the recorder it is
// captured, with one that calls remember_foreign it is known and a launch that is given a pointer into it is not recorded. The
// host's memory that kernels reach is in hooks_host_memory.cc.
#include <mutex>

#include "mneme/base/range_map.h"
#include "mneme/device/backend.h"
#include "mneme/record/free_outside.h"
#include "mneme/record/table.h"

namespace mneme {
namespace {

constexpr uint64_t kPitch = 512;  // of rows, as the vendor's own

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Where the host reaches the device's memory, managed memory is memory of the recorder as any other. These are its places, since
// programs ask what a pointer is. Thread-safe.
class ManagedMemory {
 public:
  static ManagedMemory& get() {
    static auto* memory = new ManagedMemory;
    return *memory;
  }
  void add(const void* pointer, size_t size) {
    std::lock_guard lock(mutex_);
    memory_.set({DevicePtr(address_of(pointer)), Bytes(size)});
  }
  void remove(const void* pointer) {
    std::lock_guard lock(mutex_);
    memory_.erase_start(DevicePtr(address_of(pointer)));
  }
  void clear() {
    std::lock_guard lock(mutex_);
    memory_.clear();
  }
  bool holds(const void* pointer) const {
    std::lock_guard lock(mutex_);
    return memory_.find(DevicePtr(address_of(pointer))) != nullptr;
  }

 private:
  mutable std::mutex mutex_;
  RangeMap<> memory_;
};

// Memory of the recorder, or what `vendor` returns, which leaves the address in *out. Launches that are given memory of the
// vendor pass for the reason `foreign`.
template <typename Vendor>
cudaError_t allocate(Table& table, void** out, size_t size, Vendor vendor,
                     NotRecorded foreign = NotRecorded::other_device_memory) {
  auto memory = recorder()->allocate(table, Bytes(size));
  if (memory.ok() && *memory) {
    *out = reinterpret_cast<void*>((*memory)->address);
    return cudaSuccess;
  }
  cudaError_t code = vendor();
  if (code != cudaSuccess) return code;  // the program has asked for more than there is
  if (!memory.ok()) recorder()->failed_allocation(memory.status());
  recorder()->remember_foreign(address_of(*out), size, foreign);
  return code;
}

cudaError_t on_malloc(Table& table, void** out, size_t size) {
  auto vendor = [&] { return MNEME_NEXT(table, cudaMalloc)(out, size); };
  return out && size != 0 ? allocate(table, out, size, vendor) : vendor();
}

cudaError_t on_malloc_pitch(Table& table, void** out, size_t* pitch, size_t width, size_t height) {
  size_t row = (width + kPitch - 1) / kPitch * kPitch, size = 0;
  bool own = false;
  auto vendor = [&] { return own = true, MNEME_NEXT(table, cudaMallocPitch)(out, pitch, width, height); };
  if (!out || !pitch || row < width || __builtin_mul_overflow(row, height, &size) || size == 0) return vendor();
  cudaError_t code = allocate(table, out, size, vendor);
  if (!own) *pitch = row;
  return code;
}

cudaError_t on_malloc_3d(Table& table, cudaPitchedPtr* out, cudaExtent extent) {
  size_t row = (extent.width + kPitch - 1) / kPitch * kPitch, plane = 0, size = 0;
  void* pointer = nullptr;
  bool own = false;
  auto vendor = [&] {
    cudaError_t code = MNEME_NEXT(table, cudaMalloc3D)(out, extent);
    if (out && code == cudaSuccess) pointer = out->ptr;
    return own = true, code;
  };
  if (!out || row < extent.width || __builtin_mul_overflow(row, extent.height, &plane) ||
      __builtin_mul_overflow(plane, extent.depth, &size) || size == 0)
    return vendor();
  cudaError_t code = allocate(table, &pointer, size, vendor);
  if (!own) *out = {pointer, row, extent.width, extent.height};
  return code;
}

// False when the pointer is none of the recorder's.
bool free_own(Table& table, void* pointer, cudaError_t& code) {
  if (!recorder()->owns(address_of(pointer))) return false;
  Status status = recorder()->free(table, DevicePtr(address_of(pointer)));
  if (status.ok()) ManagedMemory::get().remove(pointer);
  if (status.ok())
    code = cudaSuccess;
  else if (status.code() == Code::invalid_argument)
    code = cudaErrorInvalidValue;
  else
    code = MNEME_NEXT(table, cudaDeviceSynchronize)();  // the fault of an earlier kernel, as the vendor's cudaFree reports it
  return true;
}

cudaError_t on_free(Table& table, void* pointer) {
  cudaError_t code;
  if (pointer && free_own(table, pointer, code)) return code;
  return free_outside(DevicePtr(address_of(pointer)), [&] { return MNEME_NEXT(table, cudaFree)(pointer); });
}

template <mneme_call kSlot>
cudaError_t on_free_async(Table& table, void* pointer, cudaStream_t stream) {
  cudaError_t code;
  if (pointer && free_own(table, pointer, code)) return code;
  return free_outside(DevicePtr(address_of(pointer)),
                      [&] { return reinterpret_cast<decltype(&cudaFreeAsync)>(table.next(kSlot))(pointer, stream); });
}

cudaError_t on_device_reset(Table& table) {
  auto device = table.current_device();
  if (device.ok()) recorder()->keep_apart(*device);
  if (!device.ok() || !recorder()->reset(table, *device)) {
    release_host_memory(table);
    ManagedMemory::get().clear();
  }
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  return MNEME_NEXT(table, cudaDeviceReset)();
}

// The emulation knows only its own memory; a vendor's driver knows all.
cudaError_t on_pointer_attributes(Table& table, cudaPointerAttributes* attributes, const void* pointer) {
  const bool knows_all = backend_of(table.device_kind()).interposer.empty();
  if (!attributes || knows_all || !recorder()->owns(address_of(pointer)))
    return MNEME_NEXT(table, cudaPointerGetAttributes)(attributes, pointer);
  *attributes = {};
  attributes->type = cudaMemoryTypeDevice;
  attributes->devicePointer = const_cast<void*>(pointer);
  if (!ManagedMemory::get().holds(pointer)) return cudaSuccess;
  attributes->type = cudaMemoryTypeManaged;
  attributes->hostPointer = attributes->devicePointer;
  return cudaSuccess;
}

// The vendor lets the current device reach its own memory on the other one; the recorder's is mapped.
cudaError_t on_enable_peer(Table& table, int owner, unsigned flags) {
  const cudaError_t code = MNEME_NEXT(table, cudaDeviceEnablePeerAccess)(owner, flags);
  if (auto reader = table.current_device(); code == cudaSuccess && reader.ok()) recorder()->share(owner, *reader);
  return code;
}

cudaError_t on_disable_peer(Table& table, int owner) {
  const cudaError_t code = MNEME_NEXT(table, cudaDeviceDisablePeerAccess)(owner);
  if (auto reader = table.current_device(); code == cudaSuccess && reader.ok()) recorder()->keep_from(owner, *reader);
  return code;
}

cudaError_t remember(cudaError_t code, void* const* pointer, size_t size, NotRecorded reason) {
  if (code == cudaSuccess && pointer) recorder()->remember_foreign(address_of(*pointer), size, reason);
  return code;
}

// Where the host may not reach managed memory while kernels run, a capture might meet it there.
bool shares_managed_memory(Table& table) {
  int device = 0, shares = 0;
  return MNEME_NEXT(table, cudaGetDevice)(&device) == cudaSuccess &&
         MNEME_NEXT(table, cudaDeviceGetAttribute)(&shares, cudaDevAttrConcurrentManagedAccess, device) == cudaSuccess && shares;
}

cudaError_t on_malloc_managed(Table& table, void** out, size_t size, unsigned flags) {
  auto vendor = [&] { return MNEME_NEXT(table, cudaMallocManaged)(out, size, flags); };
  if (backend_of(table.device_kind()).hardware != Hardware::host) {
    const cudaError_t code = vendor();
    if (!shares_managed_memory(table)) return remember(code, out, size, NotRecorded::managed_memory);
    if (code != cudaSuccess) return code;
    const auto device = table.current_device();
    recorder()->outside_memory().add_managed({DevicePtr(address_of(*out)), Bytes(size)}, device.ok() ? *device : 0);
    return code;
  }
  const bool valid = out && size != 0 && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost);
  if (!valid) return remember(vendor(), out, size, NotRecorded::managed_memory);
  cudaError_t code = allocate(table, out, size, vendor, NotRecorded::managed_memory);
  if (code == cudaSuccess && recorder()->owns(address_of(*out))) ManagedMemory::get().add(*out, size);
  return code;
}
template <mneme_call kSlot>
cudaError_t on_malloc_async(Table& table, void** out, size_t size, cudaStream_t stream) {
  auto next = reinterpret_cast<decltype(&::cudaMallocAsync)>(table.next(kSlot));
  return remember(next(out, size, stream), out, size, NotRecorded::pool_memory);
}
template <mneme_call kSlot>
cudaError_t on_malloc_from_pool(Table& table, void** out, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  auto next = reinterpret_cast<decltype(&::cudaMallocFromPoolAsync)>(table.next(kSlot));
  return remember(next(out, size, pool, stream), out, size, NotRecorded::pool_memory);
}
// How large another process's memory is only its owner knows: what lies behind it up to the next allocation counts as part of it.
constexpr size_t kUnknownSize = size_t{1} << 30;
cudaError_t on_ipc_open(Table& table, void** out, cudaIpcMemHandle_t handle, unsigned flags) {
  return remember(MNEME_NEXT(table, cudaIpcOpenMemHandle)(out, handle, flags), out, kUnknownSize, NotRecorded::external_memory);
}
cudaError_t on_ipc_close(Table& table, void* pointer) {
  recorder()->forget_foreign(address_of(pointer));
  return MNEME_NEXT(table, cudaIpcCloseMemHandle)(pointer);
}
cudaError_t on_external_buffer(Table& table, void** out, cudaExternalMemory_t memory,
                               const cudaExternalMemoryBufferDesc* description) {
  cudaError_t code = MNEME_NEXT(table, cudaExternalMemoryGetMappedBuffer)(out, memory, description);
  return remember(code, out, description ? description->size : 0, NotRecorded::external_memory);
}
cudaError_t on_graphics_pointer(Table& table, void** out, size_t* size, cudaGraphicsResource_t resource) {
  cudaError_t code = MNEME_NEXT(table, cudaGraphicsResourceGetMappedPointer)(out, size, resource);
  return remember(code, out, size ? *size : kUnknownSize, NotRecorded::external_memory);
}

template <mneme_call kSlot, auto kHandler>
using Allocation = Hook<kSlot, counted<&RecordingReport::allocations, kHandler>>;

using Hooks = HookList<
    // captured
    Allocation<MNEME_CALL_cudaMalloc, on_malloc>, Allocation<MNEME_CALL_cudaMallocPitch, on_malloc_pitch>,
    Allocation<MNEME_CALL_cudaMalloc3D, on_malloc_3d>, Hook<MNEME_CALL_cudaFree, on_free>,
    Hook<MNEME_CALL_cudaFreeAsync, on_free_async<MNEME_CALL_cudaFreeAsync>>,
    Hook<MNEME_CALL_cudaFreeAsync_ptsz, on_free_async<MNEME_CALL_cudaFreeAsync_ptsz>>,
    Hook<MNEME_CALL_cudaDeviceReset, on_device_reset>, Hook<MNEME_CALL_cudaPointerGetAttributes, on_pointer_attributes>,
    Hook<MNEME_CALL_cudaDeviceEnablePeerAccess, on_enable_peer>, Hook<MNEME_CALL_cudaDeviceDisablePeerAccess, on_disable_peer>,
    Allocation<MNEME_CALL_cudaMallocManaged, on_malloc_managed>,
    // known, not captured
    Allocation<MNEME_CALL_cudaMallocAsync, on_malloc_async<MNEME_CALL_cudaMallocAsync>>,
    Allocation<MNEME_CALL_cudaMallocAsync_ptsz, on_malloc_async<MNEME_CALL_cudaMallocAsync_ptsz>>,
    Allocation<MNEME_CALL_cudaMallocFromPoolAsync, on_malloc_from_pool<MNEME_CALL_cudaMallocFromPoolAsync>>,
    Allocation<MNEME_CALL_cudaMallocFromPoolAsync_ptsz, on_malloc_from_pool<MNEME_CALL_cudaMallocFromPoolAsync_ptsz>>,
    Hook<MNEME_CALL_cudaIpcOpenMemHandle, on_ipc_open>, Hook<MNEME_CALL_cudaIpcCloseMemHandle, on_ipc_close>,
    Hook<MNEME_CALL_cudaExternalMemoryGetMappedBuffer, on_external_buffer>,
    Hook<MNEME_CALL_cudaGraphicsResourceGetMappedPointer, on_graphics_pointer>>;

}  // namespace

void install_memory_hooks(Table& table) { Hooks::install(table); }

}  // namespace mneme
