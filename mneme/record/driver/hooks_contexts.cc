// Contexts: which there are, what lives no longer than they do, and which device reaches another one's memory.
#include <span>

#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/exported_memory.h"
#include "mneme/record/driver/opened_memory.h"
#include "mneme/record/free_outside.h"

namespace mneme::driver {
namespace {

template <mneme_driver_call kSlot, typename... A>
CUresult on_create_context(CUcontext* context, A... arguments) {
  const CUresult code = next<kSlot, CUresult (*)(CUcontext*, A...)>(context, arguments...);
  if (code != CUDA_SUCCESS) return code;
  if (auto device = front().device_of(*context); device.ok()) front().add_context(*context, *device);
  return code;
}

// The driver frees what was allocated in a context together with it, and the recorder its own.
void free_with_context(const DriverFront::Belongings& gone) {
  for (const DriverFront::Access& access : gone.peers) recorder()->keep_from(access.owner, access.reader);
  if (!gone.peers.empty()) opened_memory().follow_peers();
  for (CUdeviceptr memory : gone.memory) {
    exported_memory().forget(memory);
    if (opened_memory().close_all(memory)) {
      recorder()->forget_foreign(memory);
    } else if (recorder()->owns(memory)) {
      [[maybe_unused]] Status freed = recorder()->free(front(), DevicePtr(memory));
    } else {
      free_outside(DevicePtr(memory), [] { return CUDA_SUCCESS; });
    }
  }
  for (const void* image : gone.images) forget_image(image);
}

// To be called before a context of the program's own goes.
void leave_context(CUcontext context) {
  // The context's work is waited for, and what its events stand for is freed, while the context is there.
  if (auto device = front().device_of(context); device.ok() && !recorder()->in_stream_capture()) {
    [[maybe_unused]] Status waited = front().synchronize(*device);
    recorder()->finish_frees(front());
  }
  free_with_context(front().forget_context(context));
}

// With a context go arrays and variables, which a capture may be reading.
CUresult on_destroy(CUcontext context) {
  leave_context(context);
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  return MNEME_DRIVER(cuCtxDestroy_v2, cuCtxDestroy)(context);
}

CUresult on_attach(CUcontext* context, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuCtxAttach, cuCtxAttach)(context, flags);
  if (code == CUDA_SUCCESS) front().count_own(*context, 1);
  return code;
}
// The driver detaches from the current context alone.
CUresult on_detach(CUcontext context) {
  if (context == front().current_context() && front().count_own(context, -1) == 0) leave_context(context);
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  return MNEME_DRIVER(cuCtxDetach, cuCtxDetach)(context);
}

// To be called before the primary context of a device goes, and takes the recorder's memory and device with it, unless the
// program has contexts of its own there, whose memory stays.
void lose_primary(CUdevice device) {
  if (!front().has_own_context(device)) recorder()->reset(front(), device);
  forget_graphs(device);
  free_with_context(front().forget_primary_context(device));
}

template <mneme_driver_call kSlot>
CUresult on_primary_reset(CUdevice device) {
  lose_primary(device);
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  const CUresult code = next<kSlot, CUresult (*)(CUdevice)>(device);
  if (code == CUDA_SUCCESS) recorder()->renew(front(), device);
  return code;
}

CUresult on_primary_retain(CUcontext* context, CUdevice device) {
  const CUresult code = MNEME_DRIVER(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)(context, device);
  if (code == CUDA_SUCCESS) front().count_primary(device, 1);
  return code;
}
// The recorder holds the context too, which goes when the program lets it go.
template <mneme_driver_call kSlot>
CUresult on_primary_release(CUdevice device) {
  if (front().holds_primary(device) && front().count_primary(device, -1) == 0 && !front().has_own_context(device))
    lose_primary(device);
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  return next<kSlot, CUresult (*)(CUdevice)>(device);
}

CUresult on_green_create(CUgreenCtx* context, CUdevResourceDesc resources, CUdevice device, unsigned flags) {
  front().see_green_context();
  return MNEME_DRIVER(cuGreenCtxCreate, cuGreenCtxCreate)(context, resources, device, flags);
}

// What the driver does for memory of its own is done for the recorder's, and for what was opened here, which are mapped.
CUresult on_enable_peer(CUcontext peer, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess)(peer, flags);
  if (code != CUDA_SUCCESS) return code;
  auto owner = front().device_of(peer);
  auto reader = front().current_device();
  if (!owner.ok() || !reader.ok() || !front().add_peer(peer, *owner, *reader)) return code;
  if (recorder()) recorder()->share(*owner, *reader);
  opened_memory().follow_peers();
  return code;
}
CUresult on_disable_peer(CUcontext peer) {
  const CUresult code = MNEME_DRIVER(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess)(peer);
  if (code != CUDA_SUCCESS) return code;
  const auto access = front().remove_peer(peer);
  if (!access) return code;
  if (recorder()) recorder()->keep_from(access->owner, access->reader);
  opened_memory().follow_peers();
  return code;
}
CUresult on_pool_access(CUmemoryPool pool, const CUmemAccessDesc* readers, size_t count) {
  const CUresult code = MNEME_DRIVER(cuMemPoolSetAccess, cuMemPoolSetAccess)(pool, readers, count);
  const auto owner = code == CUDA_SUCCESS ? front().device_of_pool(pool) : std::nullopt;
  if (!owner) return code;
  for (const CUmemAccessDesc& one : std::span(readers, count)) {
    const int reader = one.location.id;
    const bool reaches = one.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (one.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !front().set_pool_access(pool, reader, reaches)) continue;
    if (reaches)
      recorder()->share(*owner, reader);
    else
      recorder()->keep_from(*owner, reader);
  }
  return code;
}

// What more there is to a pool than a device's memory, the recorder's does not have.
bool is_plain(const CUmemPoolProps& pool) {
  return pool.allocType == CU_MEM_ALLOCATION_TYPE_PINNED && pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         pool.handleTypes == CU_MEM_HANDLE_TYPE_NONE && pool.maxSize == 0 && pool.usage == 0;
}
CUresult on_pool_create(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult code = MNEME_DRIVER(cuMemPoolCreate, cuMemPoolCreate)(pool, properties);
  if (code == CUDA_SUCCESS && is_plain(*properties)) front().add_pool(*pool, properties->location.id);
  return code;
}
// What is allocated from a pool outlives it, and so does who may reach that.
CUresult on_pool_destroy(CUmemoryPool pool) {
  const auto owner = front().device_of_pool(pool);
  const std::set<int> readers = front().forget_pool(pool);  // first: another thread's pool may get its handle at once
  if (owner && !readers.empty() && !recorder()->in_stream_capture() && recorder()->wait_for_devices(front()).ok())
    for (int reader : readers) recorder()->keep_from(*owner, reader);
  return MNEME_DRIVER(cuMemPoolDestroy, cuMemPoolDestroy)(pool);
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> context_hooks() {
  return {
      MNEME_HOOK(cuCtxCreate_v2, on_create_context<MNEME_DRIVER_CALL_cuCtxCreate_v2, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxCreate_v3,
                 on_create_context<MNEME_DRIVER_CALL_cuCtxCreate_v3, CUexecAffinityParam*, int, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxCreate_v4, on_create_context<MNEME_DRIVER_CALL_cuCtxCreate_v4, CUctxCreateParams*, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxDestroy_v2, on_destroy),
      MNEME_HOOK(cuCtxAttach, on_attach),
      MNEME_HOOK(cuCtxDetach, on_detach),
      MNEME_HOOK(cuDevicePrimaryCtxRetain, on_primary_retain),
      MNEME_HOOK(cuDevicePrimaryCtxRelease, on_primary_release<MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease>),
      MNEME_HOOK(cuDevicePrimaryCtxRelease_v2, on_primary_release<MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease_v2>),
      MNEME_HOOK(cuDevicePrimaryCtxReset, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset>),
      MNEME_HOOK(cuDevicePrimaryCtxReset_v2, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset_v2>),
      MNEME_HOOK(cuGreenCtxCreate, on_green_create),
      MNEME_HOOK(cuMemPoolSetAccess, on_pool_access),
      MNEME_HOOK(cuMemPoolCreate, on_pool_create),
      MNEME_HOOK(cuMemPoolDestroy, on_pool_destroy),
  };
}

std::vector<DriverHook> peer_hooks() {
  return {MNEME_HOOK(cuCtxEnablePeerAccess, on_enable_peer), MNEME_HOOK(cuCtxDisablePeerAccess, on_disable_peer)};
}

}  // namespace mneme::driver
