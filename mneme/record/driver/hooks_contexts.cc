// Contexts: which there are, what lives no longer than they do, and which device reaches another one's memory.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

template <mneme_driver_call kSlot, typename... A>
CUresult on_create(CUcontext* context, A... arguments) {
  const CUresult code = next<kSlot, CUresult (*)(CUcontext*, A...)>(context, arguments...);
  if (code != CUDA_SUCCESS) return code;
  if (auto device = front().device_of(*context); device.ok()) front().add_context(*context, *device);
  return code;
}

// Managed memory is freed by the driver, with its context.
void free_with_context(DevicePtr memory) {
  OutsideMemory& outside = recorder()->outside_memory();
  if (!outside.is_managed(memory)) {
    [[maybe_unused]] Status freed = recorder()->free(front(), memory);
    return;
  }
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  if (const auto range = outside.remove_managed(memory)) recorder()->forget_annotations(*range);
}

// The driver frees what was allocated in a context together with it, and the recorder its own.
CUresult on_destroy(CUcontext context) {
  // The context's work is waited for, and what its events stand for is freed, while the context is there.
  if (auto device = front().device_of(context); device.ok() && !recorder()->in_stream_capture()) {
    [[maybe_unused]] Status waited = front().synchronize(*device);
    recorder()->finish_frees(front());
  }
  const DriverFront::Belongings gone = front().forget_context(context);
  for (CUdeviceptr memory : gone.memory) free_with_context(DevicePtr(memory));
  for (const void* image : gone.images) forget_image(image);
  Gate::Use use(recorder()->gate());
  return MNEME_DRIVER(cuCtxDestroy_v2, cuCtxDestroy)(context);
}

// To be called before the primary context of a device goes, and takes the recorder's memory and device with it, unless the
// program has contexts of its own there, whose memory stays.
void lose_primary(CUdevice device) {
  if (!front().has_own_context(device)) recorder()->reset(front(), device);
  forget_graphs(device);
  for (const void* image : front().forget_primary_context(device).images) forget_image(image);
}

template <mneme_driver_call kSlot>
CUresult on_primary_reset(CUdevice device) {
  lose_primary(device);
  return next<kSlot, CUresult (*)(CUdevice)>(device);
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
  return next<kSlot, CUresult (*)(CUdevice)>(device);
}

CUresult on_green_create(CUgreenCtx* context, CUdevResourceDesc resources, CUdevice device, unsigned flags) {
  front().see_green_context();
  return MNEME_DRIVER(cuGreenCtxCreate, cuGreenCtxCreate)(context, resources, device, flags);
}

// What the driver does for memory of its own is done for the recorder's, which is mapped.
CUresult on_enable_peer(CUcontext peer, unsigned flags) {
  const CUresult code = MNEME_DRIVER(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess)(peer, flags);
  if (code != CUDA_SUCCESS) return code;
  auto owner = front().device_of(peer);
  auto reader = front().current_device();
  if (owner.ok() && reader.ok()) recorder()->share(*owner, *reader);
  return code;
}
CUresult on_pool_access(CUmemoryPool pool, const CUmemAccessDesc* readers, size_t count) {
  const CUresult code = MNEME_DRIVER(cuMemPoolSetAccess, cuMemPoolSetAccess)(pool, readers, count);
  const auto owner = code == CUDA_SUCCESS ? front().device_of_default_pool(pool) : std::nullopt;
  for (size_t i = 0; owner && i < count; ++i)
    if (readers[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && readers[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      recorder()->share(*owner, readers[i].location.id);
  return code;
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> context_hooks() {
  return {
      MNEME_HOOK(cuCtxCreate_v2, on_create<MNEME_DRIVER_CALL_cuCtxCreate_v2, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxCreate_v3, on_create<MNEME_DRIVER_CALL_cuCtxCreate_v3, CUexecAffinityParam*, int, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxCreate_v4, on_create<MNEME_DRIVER_CALL_cuCtxCreate_v4, CUctxCreateParams*, unsigned, CUdevice>),
      MNEME_HOOK(cuCtxDestroy_v2, on_destroy),
      MNEME_HOOK(cuDevicePrimaryCtxRetain, on_primary_retain),
      MNEME_HOOK(cuDevicePrimaryCtxRelease, on_primary_release<MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease>),
      MNEME_HOOK(cuDevicePrimaryCtxRelease_v2, on_primary_release<MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease_v2>),
      MNEME_HOOK(cuDevicePrimaryCtxReset, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset>),
      MNEME_HOOK(cuDevicePrimaryCtxReset_v2, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset_v2>),
      MNEME_HOOK(cuGreenCtxCreate, on_green_create),
      MNEME_HOOK(cuCtxEnablePeerAccess, on_enable_peer),
      MNEME_HOOK(cuMemPoolSetAccess, on_pool_access),
  };
}

}  // namespace mneme::driver
