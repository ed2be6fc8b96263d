// Streams: handles, queries, waits and host functions.
#include <mutex>
#include <set>

#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/event.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

struct StreamTable {
  std::mutex mutex;
  std::set<ProgramStream*> streams;
  unsigned long long next_id = 3;  // 1 and 2 are the default streams
};
StreamTable& table() {
  static StreamTable* table = new StreamTable;
  return *table;
}

cudaError_t create_with_priority(cudaStream_t* handle, unsigned flags, int priority) {
  if (!handle || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking)) return cudaErrorInvalidValue;
  std::lock_guard lock(table().mutex);
  auto* stream = new ProgramStream{table().next_id++, flags, priority, nullptr, {}};
  table().streams.insert(stream);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

cudaError_t create(cudaStream_t* handle) { return create_with_priority(handle, cudaStreamDefault, 0); }
cudaError_t create_with_flags(cudaStream_t* handle, unsigned flags) { return create_with_priority(handle, flags, 0); }

cudaError_t destroy(cudaStream_t handle) {
  auto* stream = reinterpret_cast<ProgramStream*>(handle);
  std::lock_guard lock(table().mutex);
  if (table().streams.erase(stream) == 0) return cudaErrorInvalidResourceHandle;
  leave_capture(*stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t known(cudaStream_t handle) { return find_stream(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle; }

cudaError_t synchronize(cudaStream_t handle) {
  if (cudaError_t result = known(handle); result != cudaSuccess) return result;
  return is_capturing(handle) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t wait_event(cudaStream_t handle, cudaEvent_t event, unsigned) {
  ProgramStream* stream = find_stream(handle);
  if (!stream || !event) return cudaErrorInvalidResourceHandle;
  wait_captured(*stream, *Event::of(event));
  return cudaSuccess;
}

cudaError_t add_callback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  if (!callback || flags != 0) return cudaErrorInvalidValue;
  if (is_capturing(stream)) return cudaErrorStreamCaptureUnsupported;
  return submit(stream, HostCall{[=] { callback(stream, cudaSuccess, data); }, {}});
}

cudaError_t launch_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (!function) return cudaErrorInvalidValue;
  return submit(stream, HostCall{[=] { function(data); }, {function, data}});
}

template <typename T>
cudaError_t get(cudaStream_t handle, T* out, T ProgramStream::* member) {
  ProgramStream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!out) return cudaErrorInvalidValue;
  *out = stream->*member;
  return cudaSuccess;
}
cudaError_t get_flags(cudaStream_t stream, unsigned* flags) { return get(stream, flags, &ProgramStream::flags); }
cudaError_t get_priority(cudaStream_t stream, int* priority) { return get(stream, priority, &ProgramStream::priority); }
cudaError_t get_id(cudaStream_t stream, unsigned long long* id) { return get(stream, id, &ProgramStream::id); }

cudaError_t get_device(cudaStream_t stream, int* device) {
  if (!device) return cudaErrorInvalidValue;
  *device = 0;
  return known(stream);
}

// Attributes steer caches and scheduling, of which there is nothing here: they are taken, and read back as zero.
cudaError_t set_attribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return value ? known(stream) : cudaErrorInvalidValue;
}
cudaError_t get_attribute(cudaStream_t stream, cudaStreamAttrID, cudaStreamAttrValue* value) {
  if (!value) return cudaErrorInvalidValue;
  *value = {};
  return known(stream);
}
cudaError_t copy_attributes(cudaStream_t to, cudaStream_t from) {
  return known(to) == cudaSuccess ? known(from) : cudaErrorInvalidResourceHandle;
}

}  // namespace

ProgramStream* find_stream(cudaStream_t handle) {
  static ProgramStream* legacy = new ProgramStream{1, cudaStreamDefault, 0, nullptr, {}};
  thread_local ProgramStream per_thread{2, cudaStreamDefault, 0, nullptr, {}};
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy;
  if (handle == cudaStreamPerThread) return &per_thread;
  auto* stream = reinterpret_cast<ProgramStream*>(handle);
  std::lock_guard lock(table().mutex);
  return table().streams.contains(stream) ? stream : nullptr;
}

void fill_streams(Slots& slots) {
  MNEME_EMULATE(cudaStreamCreate, create);
  MNEME_EMULATE(cudaStreamCreateWithFlags, create_with_flags);
  MNEME_EMULATE(cudaStreamCreateWithPriority, create_with_priority);
  MNEME_EMULATE(cudaStreamDestroy, destroy);
  MNEME_EMULATE_PTSZ(cudaStreamSynchronize, synchronize);
  MNEME_EMULATE_PTSZ(cudaStreamQuery, synchronize);
  MNEME_EMULATE_PTSZ(cudaStreamWaitEvent, wait_event);
  MNEME_EMULATE_PTSZ(cudaStreamAddCallback, add_callback);
  MNEME_EMULATE_PTSZ(cudaLaunchHostFunc, launch_host_function);
  MNEME_EMULATE_PTSZ(cudaStreamGetFlags, get_flags);
  MNEME_EMULATE_PTSZ(cudaStreamGetPriority, get_priority);
  MNEME_EMULATE_PTSZ(cudaStreamGetId, get_id);
  MNEME_EMULATE_PTSZ(cudaStreamGetDevice, get_device);
  MNEME_EMULATE_PTSZ(cudaStreamSetAttribute, set_attribute);
  MNEME_EMULATE_PTSZ(cudaStreamGetAttribute, get_attribute);
  MNEME_EMULATE_PTSZ(cudaStreamCopyAttributes, copy_attributes);
}

}  // namespace mneme::emulation
