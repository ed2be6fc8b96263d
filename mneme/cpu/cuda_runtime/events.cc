#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/event.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

cudaError_t create_with_flags(cudaEvent_t* handle, unsigned flags) {
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!handle || (flags & ~known)) return cudaErrorInvalidValue;
  auto* event = new Event;
  event->flags = flags;
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}
cudaError_t create(cudaEvent_t* handle) { return create_with_flags(handle, cudaEventDefault); }

cudaError_t destroy(cudaEvent_t handle) {
  if (!handle) return cudaErrorInvalidResourceHandle;
  delete Event::of(handle);
  return cudaSuccess;
}

cudaError_t record_with_flags(cudaEvent_t handle, cudaStream_t stream_handle, unsigned flags) {
  ProgramStream* stream = find_stream(stream_handle);
  if (!handle || !stream) return cudaErrorInvalidResourceHandle;
  Event& event = *Event::of(handle);
  if (flags == cudaEventRecordExternal) return submit(stream_handle, EventRecord{&event});
  if (!record_captured(*stream, event)) event.record();
  return cudaSuccess;
}
cudaError_t record(cudaEvent_t handle, cudaStream_t stream) { return record_with_flags(handle, stream, cudaEventRecordDefault); }

cudaError_t synchronize(cudaEvent_t handle) {
  if (!handle) return cudaErrorInvalidResourceHandle;
  Event& event = *Event::of(handle);
  std::lock_guard lock(event.mutex);
  return event.capture ? cudaErrorCapturedEvent : cudaSuccess;
}

cudaError_t elapsed_time(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!milliseconds) return cudaErrorInvalidValue;
  if (!start || !end) return cudaErrorInvalidResourceHandle;
  const Event &from = *Event::of(start), &to = *Event::of(end);
  if (!from.time || !to.time || ((from.flags | to.flags) & cudaEventDisableTiming)) return cudaErrorInvalidResourceHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(*to.time - *from.time).count();
  return cudaSuccess;
}

}  // namespace

void fill_events(Slots& slots) {
  MNEME_EMULATE(cudaEventCreate, create);
  MNEME_EMULATE(cudaEventCreateWithFlags, create_with_flags);
  MNEME_EMULATE(cudaEventDestroy, destroy);
  MNEME_EMULATE_PTSZ(cudaEventRecord, record);
  MNEME_EMULATE_PTSZ(cudaEventRecordWithFlags, record_with_flags);
  MNEME_EMULATE(cudaEventSynchronize, synchronize);
  MNEME_EMULATE(cudaEventQuery, synchronize);
  MNEME_EMULATE(cudaEventElapsedTime, elapsed_time);
}

}  // namespace mneme::emulation
