// Memory that the program maps itself: it reserves addresses, creates physical memory, maps the one to the other, and says who
// may reach it. The calls are the driver's own; the recorder chooses addresses that are left to the driver, and notes the rest.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

OutsideMemory& outside() { return recorder()->outside_memory(); }

// The driver takes a wish for large ranges only, so that the range is as large as its place (ReservedAddresses).
CUresult on_reserve(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr wish, unsigned long long flags) {
  const auto call = MNEME_DRIVER(cuMemAddressReserve, cuMemAddressReserve);
  ReservedAddresses& reserved = recorder()->reserved_addresses();
  const bool is_ours = out && wish == 0 && recorder()->is_recording();
  const auto place = is_ours ? reserved.place(Bytes(size), alignment) : std::nullopt;
  if (!place) return call(out, size, alignment, wish, flags);
  if (call(out, place->size.count, alignment, place->address.address, flags) == CUDA_SUCCESS) {
    reserved.settle(*place, DevicePtr(*out));
    return CUDA_SUCCESS;
  }
  reserved.give_up(place->address);
  return call(out, size, alignment, wish, flags);
}

CUresult on_free_addresses(CUdeviceptr address, size_t size) {
  const auto call = MNEME_DRIVER(cuMemAddressFree, cuMemAddressFree);
  ReservedAddresses& reserved = recorder()->reserved_addresses();
  const auto whole = reserved.size_at(DevicePtr(address), Bytes(size));
  if (!whole) return call(address, size);
  const CUresult code = call(address, whole->count);
  if (code == CUDA_SUCCESS) reserved.give_up(DevicePtr(address));
  return code;
}

CUresult on_create(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                   unsigned long long flags) {
  const CUresult code = MNEME_DRIVER(cuMemCreate, cuMemCreate)(handle, size, properties, flags);
  if (code != CUDA_SUCCESS) return code;
  if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    outside().create(*handle, properties->location.id);
  else
    outside().create_refused(*handle, NotRecorded::mapped_memory);
  return code;
}

CUresult on_import(CUmemGenericAllocationHandle* handle, void* shareable, CUmemAllocationHandleType type) {
  const CUresult code = MNEME_DRIVER(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle)(handle, shareable, type);
  if (code == CUDA_SUCCESS) outside().create_refused(*handle, NotRecorded::external_memory);
  return code;
}

CUresult on_retain(CUmemGenericAllocationHandle* handle, void* address) {
  const CUresult code = MNEME_DRIVER(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle)(handle, address);
  if (code == CUDA_SUCCESS) outside().retain(*handle, DevicePtr(reinterpret_cast<uint64_t>(address)));
  return code;
}

// Forgotten first: the driver may give the number to another thread's memory at once.
CUresult on_release(CUmemGenericAllocationHandle handle) {
  outside().release(handle);
  return MNEME_DRIVER(cuMemRelease, cuMemRelease)(handle);
}

CUresult on_map(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const CUresult code = MNEME_DRIVER(cuMemMap, cuMemMap)(address, size, offset, handle, flags);
  if (code == CUDA_SUCCESS) outside().map({DevicePtr(address), Bytes(size)}, handle);
  return code;
}

CUresult on_unmap(CUdeviceptr address, size_t size) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  const CUresult code = MNEME_DRIVER(cuMemUnmap, cuMemUnmap)(address, size);
  if (code != CUDA_SUCCESS) return code;
  const MemoryRange gone{DevicePtr(address), Bytes(size)};
  recorder()->forget_annotations(gone);
  outside().unmap(gone);
  return code;
}

CUresult on_set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc* access, size_t count) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);  // which this call does too
  const CUresult code = MNEME_DRIVER(cuMemSetAccess, cuMemSetAccess)(address, size, access, count);
  if (code != CUDA_SUCCESS) return code;
  for (const CUmemAccessDesc& one : std::span(access, count))
    if (one.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
      outside().set_access({DevicePtr(address), Bytes(size)}, one.location.id, one.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
  return code;
}

// Whoever writes to the multicast object writes to this memory.
CUresult on_bind(CUmemGenericAllocationHandle multicast, size_t multicast_offset, CUmemGenericAllocationHandle memory,
                 size_t offset, size_t size, unsigned long long flags) {
  const CUresult code =
      MNEME_DRIVER(cuMulticastBindMem, cuMulticastBindMem)(multicast, multicast_offset, memory, offset, size, flags);
  if (code == CUDA_SUCCESS) outside().refuse(memory, NotRecorded::mapped_memory);
  return code;
}

CUresult on_bind_address(CUmemGenericAllocationHandle multicast, size_t multicast_offset, CUdeviceptr address, size_t size,
                         unsigned long long flags) {
  const CUresult code = MNEME_DRIVER(cuMulticastBindAddr, cuMulticastBindAddr)(multicast, multicast_offset, address, size, flags);
  if (code == CUDA_SUCCESS) outside().refuse_mapped({DevicePtr(address), Bytes(size)}, NotRecorded::mapped_memory);
  return code;
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> mapped_memory_hooks() {
  return {MNEME_HOOK(cuMemAddressReserve, on_reserve),
          MNEME_HOOK(cuMemAddressFree, on_free_addresses),
          hook(MNEME_DRIVER_CALL_cuMemCreate, counted<&RecordingReport::allocations, on_create>),
          MNEME_HOOK(cuMemImportFromShareableHandle, on_import),
          MNEME_HOOK(cuMemRetainAllocationHandle, on_retain),
          MNEME_HOOK(cuMemRelease, on_release),
          MNEME_HOOK(cuMemMap, on_map),
          MNEME_HOOK(cuMemUnmap, on_unmap),
          MNEME_HOOK(cuMemSetAccess, on_set_access),
          MNEME_HOOK(cuMulticastBindMem, on_bind),
          MNEME_HOOK(cuMulticastBindAddr, on_bind_address)};
}

}  // namespace mneme::driver
