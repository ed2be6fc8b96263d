// Memory that processes share by handles (cuIpcGetMemHandle). The driver makes them of memory that it has placed; of the
// recorder's the front makes them, which it also takes in any process that it is loaded into.
#include <mutex>
#include <optional>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/exported_memory.h"
#include "mneme/record/driver/opened_memory.h"

namespace mneme::driver {
namespace {

// How large memory is that another process has, only its owner knows: what lies behind it counts as part of it.
constexpr size_t kUnknownSize = size_t{1} << 30;

// A process of which nothing is recorded has no recorder.
void remember(CUdeviceptr address, size_t size) {
  if (recorder()) recorder()->remember_foreign(address, size, NotRecorded::external_memory);
}

// The driver refuses memory that is mapped, which the recorder's is, and memory of a pool, which it would refuse in any case.
CUresult on_get(CUipcMemHandle* handle, CUdeviceptr pointer) {
  const CUresult code = MNEME_DRIVER(cuIpcGetMemHandle, cuIpcGetMemHandle)(handle, pointer);
  if (code != CUDA_ERROR_INVALID_VALUE || !handle || !recorder()->owns(pointer)) return code;
  const auto allocation = recorder()->find_allocation(DevicePtr(pointer));
  if (!allocation || front().pool_of_memory(allocation->address.address)) return code;
  const auto name = exported_memory().name(*allocation, [&] { return recorder()->export_allocation(allocation->address); });
  if (!name.ok()) {
    static std::once_flag once;
    std::call_once(once, [&] {
      log::warning(
          "the program shares device memory with another process (cuIpcGetMemHandle), and memory that the recorder has placed "
          "cannot be shared here: {}; record it with --memory-from driver",
          name.status().message());
    });
    return code;
  }
  if (RecordingReport* const report = recorder()->report()) ++report->shared;
  *handle = to_handle(*name);
  return CUDA_SUCCESS;
}

template <mneme_driver_call kSlot>
CUresult on_open(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  const auto name = name_in(handle);
  // Whether a handle can be opened at all the driver says, which needs flags and a context.
  if (!name || !out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || !front().current_context()) {
    const CUresult code = next<kSlot, CUresult (*)(CUdeviceptr*, CUipcMemHandle, unsigned)>(out, handle, flags);
    if (code == CUDA_SUCCESS && out) remember(*out, kUnknownSize);
    return code;
  }
  const CUresult code = opened_memory().open(out, *name);
  if (code != CUDA_SUCCESS) return code;
  if (const auto memory = opened_memory().find(*out)) remember(*out, memory->size.count);
  front().add_memory(*out);
  return code;
}

// As the driver, which does not take memory from under a kernel. Nothing may wait while a stream is captured.
void wait_for_context() {
  if (recorder() && recorder()->in_stream_capture()) return;
  if (const auto synchronize = front().find("cuCtxSynchronize")) reinterpret_cast<CUresult (*)()>(synchronize)();
}

CUresult on_close(CUdeviceptr pointer) {
  const bool is_ours = front().current_context() && opened_memory().find(pointer);
  if (is_ours) wait_for_context();
  const auto closed = is_ours ? opened_memory().close(pointer) : std::nullopt;
  if (!closed) {
    if (recorder()) recorder()->forget_foreign(pointer);
    return MNEME_DRIVER(cuIpcCloseMemHandle, cuIpcCloseMemHandle)(pointer);
  }
  if (!opened_memory().find(pointer)) {  // it was open once
    front().forget_memory(pointer);
    if (recorder()) recorder()->forget_foreign(pointer);
  }
  return *closed;
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> opening_hooks() {
  return {MNEME_HOOK(cuIpcOpenMemHandle, on_open<MNEME_DRIVER_CALL_cuIpcOpenMemHandle>),
          MNEME_HOOK(cuIpcOpenMemHandle_v2, on_open<MNEME_DRIVER_CALL_cuIpcOpenMemHandle_v2>),
          MNEME_HOOK(cuIpcCloseMemHandle, on_close)};
}

std::vector<DriverHook> sharing_hooks() { return {MNEME_HOOK(cuIpcGetMemHandle, on_get)}; }

}  // namespace mneme::driver
