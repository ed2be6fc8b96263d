// Allocation kinds of the driver. With a handler that takes its memory from the recorder an allocation is captured; with one that
// calls remember_foreign() it is known, and a launch that is given a pointer into it is not recorded. Memory that the program
// maps itself is in hooks_mapped_memory.cc, host memory that kernels reach in hooks_host_memory.cc, memory that processes share
// in hooks_ipc.cc.
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/exported_memory.h"
#include "mneme/record/driver/opened_memory.h"
#include "mneme/record/free_outside.h"

namespace mneme::driver {
namespace {

constexpr uint64_t kPitch = 512;  // of rows, as the driver's own
// How large memory is that another process or interface has, only its owner knows: what lies behind it counts as part of it.
constexpr size_t kUnknownSize = size_t{1} << 30;

// Memory of the recorder, or what `original` returns, which leaves the address in *out.
template <typename Original>
CUresult allocate(CUdeviceptr* out, size_t size, NotRecorded foreign, Original original) {
  auto memory = recorder()->allocate(front(), Bytes(size));
  if (memory.ok() && *memory) {
    *out = (*memory)->address;
    return CUDA_SUCCESS;
  }
  const CUresult code = original();
  if (code != CUDA_SUCCESS) return code;  // the program has asked for more than there is
  if (!memory.ok()) recorder()->failed_allocation(memory.status());
  recorder()->remember_foreign(*out, size, foreign);
  return code;
}

// Memory that goes with the context in which it was allocated.
template <typename Original>
CUresult allocate_in_context(CUdeviceptr* out, size_t size, Original original) {
  const CUresult code = allocate(out, size, NotRecorded::other_device_memory, original);
  if (code == CUDA_SUCCESS && recorder()->owns(*out)) front().add_memory(*out);
  return code;
}

// Whether the driver is to place what is allocated now. What it allocates in another context than the primary one, the recorder
// could not read.
bool is_left_to_driver() { return recorder()->memory_from() == MemoryFrom::driver && front().in_primary_context(); }

// Memory of the driver's, of which `code` is what it said.
CUresult remember_allocation(CUresult code, CUdeviceptr address, size_t size) {
  if (code != CUDA_SUCCESS) return code;
  const auto device = front().current_device();
  recorder()->outside_memory().add_allocation({DevicePtr(address), Bytes(size)}, device.ok() ? *device : 0);
  front().add_memory(address);
  return code;
}

CUresult on_alloc(CUdeviceptr* out, size_t size) {
  auto original = [&] { return MNEME_DRIVER(cuMemAlloc_v2, cuMemAlloc_v2)(out, size); };
  if (out && size != 0 && is_left_to_driver()) {
    const CUresult code = original();
    return remember_allocation(code, *out, size);
  }
  return out && size != 0 ? allocate_in_context(out, size, original) : original();
}

CUresult on_alloc_pitch(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  const size_t row = (width + kPitch - 1) / kPitch * kPitch;
  size_t size = 0;
  bool own = false;
  auto original = [&] {
    return own = true, MNEME_DRIVER(cuMemAllocPitch_v2, cuMemAllocPitch_v2)(out, pitch, width, height, element);
  };
  const bool known_element = element == 4 || element == 8 || element == 16;
  if (!out || !pitch || !known_element || row < width || __builtin_mul_overflow(row, height, &size) || size == 0)
    return original();
  if (is_left_to_driver()) {
    const CUresult code = original();
    return remember_allocation(code, *out, *pitch * height);
  }
  const CUresult code = allocate_in_context(out, size, original);
  if (!own) *pitch = row;
  return code;
}

// What goes into a graph allocates when the graph runs: the driver has to know of it.
bool is_captured() { return recorder()->in_stream_capture(); }

// The driver's answer to a free of the recorder's, whose status it is given. A fault of an earlier kernel is reported as the
// driver reports it.
CUresult result_of(const Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  if (status.code() == Code::invalid_argument) return CUDA_ERROR_INVALID_VALUE;
  return MNEME_DRIVER(cuMemFree_v2, cuMemFree_v2)(0);
}

CUresult on_free(CUdeviceptr pointer) {
  // The driver refuses memory of another process.
  if (opened_memory().find(pointer)) return MNEME_DRIVER(cuMemFree_v2, cuMemFree_v2)(pointer);
  exported_memory().forget(pointer);
  front().forget_memory(pointer);
  if (pointer != 0 && recorder()->owns(pointer)) return result_of(recorder()->free(front(), DevicePtr(pointer)));
  return free_outside(DevicePtr(pointer), [&] { return MNEME_DRIVER(cuMemFree_v2, cuMemFree_v2)(pointer); });
}
template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_free_async(CUdeviceptr pointer, CUstream stream) {
  if (opened_memory().find(pointer)) return next<kSlot, decltype(&::cuMemFreeAsync)>(pointer, stream);
  exported_memory().forget(pointer);
  front().forget_memory(pointer);
  if (pointer != 0 && recorder()->owns(pointer)) {
    void* const in = kPerThread && stream == nullptr ? CU_STREAM_PER_THREAD : stream;
    return result_of(recorder()->free_in_stream(front(), DevicePtr(pointer), in));
  }
  return free_outside(DevicePtr(pointer), [&] { return next<kSlot, decltype(&::cuMemFreeAsync)>(pointer, stream); });
}

CUresult remember(CUresult code, const CUdeviceptr* pointer, size_t size, NotRecorded reason) {
  if (code == CUDA_SUCCESS && pointer) recorder()->remember_foreign(*pointer, size, reason);
  return code;
}

// What an allocation in a stream takes memory from decides where it lies and who may use it: the recorder serves what would be
// the device's own memory, with no more to it.
template <typename Original>
CUresult allocate_from_pool(CUdeviceptr* out, size_t size, CUstream stream, CUmemoryPool pool, Original original) {
  if (is_captured() || !front().allocates_from_plain_pool(stream, pool))
    return remember(original(), out, size, NotRecorded::pool_memory);
  const CUresult code = allocate(out, size, NotRecorded::pool_memory, original);
  if (code == CUDA_SUCCESS) front().add_pool_memory(pool, *out);
  return code;
}
template <mneme_driver_call kSlot>
CUresult on_alloc_async(CUdeviceptr* out, size_t size, CUstream stream) {
  auto original = [&] { return next<kSlot, decltype(&::cuMemAllocAsync)>(out, size, stream); };
  if (!out || size == 0) return original();
  return allocate_from_pool(out, size, stream, nullptr, original);
}
template <mneme_driver_call kSlot>
CUresult on_alloc_from_pool(CUdeviceptr* out, size_t size, CUmemoryPool pool, CUstream stream) {
  auto original = [&] { return next<kSlot, decltype(&::cuMemAllocFromPoolAsync)>(out, size, pool, stream); };
  if (!out || size == 0 || !pool) return original();
  return allocate_from_pool(out, size, stream, pool, original);
}

// Where host and device may not reach managed memory at once, a capture might meet the host there.
CUresult on_alloc_managed(CUdeviceptr* out, size_t size, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuMemAllocManaged, cuMemAllocManaged)(out, size, flags);
  if (!front().shares_managed_memory()) return remember(code, out, size, NotRecorded::managed_memory);
  if (code != CUDA_SUCCESS) return code;
  const auto device = front().current_device();
  recorder()->outside_memory().add_managed({DevicePtr(*out), Bytes(size)}, device.ok() ? *device : 0);
  front().add_memory(*out);
  return code;
}
// Memory that was freed in streams is given back sooner, which the program asks for.
CUresult on_pool_trim(CUmemoryPool pool, size_t keep) {
  recorder()->finish_frees(front());
  return MNEME_DRIVER(cuMemPoolTrimTo, cuMemPoolTrimTo)(pool, keep);
}
CUresult on_external_buffer(CUdeviceptr* out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) {
  const CUresult code = MNEME_DRIVER(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)(out, memory, description);
  return remember(code, out, description ? description->size : 0, NotRecorded::external_memory);
}
CUresult on_graphics_pointer(CUdeviceptr* out, size_t* size, CUgraphicsResource resource) {
  const CUresult code =
      MNEME_DRIVER(cuGraphicsResourceGetMappedPointer_v2, cuGraphicsResourceGetMappedPointer)(out, size, resource);
  return remember(code, out, size ? *size : kUnknownSize, NotRecorded::external_memory);
}
CUresult on_pool_import(CUdeviceptr* out, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  return remember(MNEME_DRIVER(cuMemPoolImportPointer, cuMemPoolImportPointer)(out, pool, data), out, kUnknownSize,
                  NotRecorded::external_memory);
}

// The driver knows what is mapped, in whole granules, and not which allocations lie there.
std::optional<MemoryRange> find_allocation(CUdeviceptr pointer) {
  return recorder()->owns(pointer) ? recorder()->find_allocation(DevicePtr(pointer)) : opened_memory().find(pointer);
}
CUresult on_address_range(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return MNEME_DRIVER(cuMemGetAddressRange_v2, cuMemGetAddressRange_v2)(base, size, pointer);
  if (base) *base = allocation->address.address;
  if (size) *size = allocation->size.count;
  return CUDA_SUCCESS;
}

// By these attributes programs choose how they share memory. What the driver allocates is shared by its handles, and by nothing
// else; what was opened by one of them is not given on. It has written the value, whose width it alone knows; what is changed
// lies in the first byte.
void correct_sharing(void* value, CUpointer_attribute attribute, DevicePtr allocation) {
  auto& first = *static_cast<unsigned char*>(value);
  if (attribute == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES) first &= ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    first =
        recorder()->owns(allocation.address) && !front().pool_of_memory(allocation.address) && recorder()->can_export(allocation);
}
// What is mapped is of no context, for the driver.
void correct_context(CUcontext& context, DevicePtr allocation) {
  if (!context) context = front().context_of_memory(allocation.address);
}
void correct_attribute(void* value, CUpointer_attribute attribute, const MemoryRange& allocation) {
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) *static_cast<CUdeviceptr*>(value) = allocation.address.address;
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE) *static_cast<size_t*>(value) = allocation.size.count;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
    *static_cast<CUmemoryPool*>(value) = front().pool_of_memory(allocation.address.address);
  if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT) correct_context(*static_cast<CUcontext*>(value), allocation.address);
  correct_sharing(value, attribute, allocation.address);
}
CUresult on_pointer_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const CUresult code = MNEME_DRIVER(cuPointerGetAttribute, cuPointerGetAttribute)(value, attribute, pointer);
  if (code != CUDA_SUCCESS) return code;
  if (const auto allocation = find_allocation(pointer)) correct_attribute(value, attribute, *allocation);
  return code;
}
CUresult on_pointer_attributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr pointer) {
  const CUresult code = MNEME_DRIVER(cuPointerGetAttributes, cuPointerGetAttributes)(count, attributes, values, pointer);
  if (code != CUDA_SUCCESS) return code;
  const auto allocation = find_allocation(pointer);
  for (unsigned i = 0; allocation && i < count; ++i) correct_attribute(values[i], attributes[i], *allocation);
  return code;
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)
#define MNEME_ALLOCATION(name, ...) hook(MNEME_DRIVER_CALL_##name, counted<&RecordingReport::allocations, __VA_ARGS__>)

}  // namespace

std::vector<DriverHook> memory_hooks() {
  return {
      // captured
      MNEME_ALLOCATION(cuMemAlloc_v2, on_alloc),
      MNEME_ALLOCATION(cuMemAllocPitch_v2, on_alloc_pitch),
      MNEME_HOOK(cuMemFree_v2, on_free),
      MNEME_ALLOCATION(cuMemAllocAsync, on_alloc_async<MNEME_DRIVER_CALL_cuMemAllocAsync>),
      MNEME_ALLOCATION(cuMemAllocAsync_ptsz, on_alloc_async<MNEME_DRIVER_CALL_cuMemAllocAsync_ptsz>),
      MNEME_HOOK(cuMemFreeAsync, on_free_async<MNEME_DRIVER_CALL_cuMemFreeAsync, false>),
      MNEME_HOOK(cuMemFreeAsync_ptsz, on_free_async<MNEME_DRIVER_CALL_cuMemFreeAsync_ptsz, true>),
      MNEME_HOOK(cuMemGetAddressRange_v2, on_address_range),
      MNEME_HOOK(cuPointerGetAttribute, on_pointer_attribute),
      MNEME_HOOK(cuPointerGetAttributes, on_pointer_attributes),
      MNEME_HOOK(cuMemPoolTrimTo, on_pool_trim),
      MNEME_ALLOCATION(cuMemAllocManaged, on_alloc_managed),
      MNEME_ALLOCATION(cuMemAllocFromPoolAsync, on_alloc_from_pool<MNEME_DRIVER_CALL_cuMemAllocFromPoolAsync>),
      MNEME_ALLOCATION(cuMemAllocFromPoolAsync_ptsz, on_alloc_from_pool<MNEME_DRIVER_CALL_cuMemAllocFromPoolAsync_ptsz>),
      // known, not captured
      MNEME_HOOK(cuExternalMemoryGetMappedBuffer, on_external_buffer),
      MNEME_HOOK(cuGraphicsResourceGetMappedPointer_v2, on_graphics_pointer),
      MNEME_HOOK(cuMemPoolImportPointer, on_pool_import),
  };
}

}  // namespace mneme::driver
