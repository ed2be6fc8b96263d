// Streams, their capture, and events.
#include <memory>

#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

cudaStream_t to_stream(hipStream_t stream) { return std::bit_cast<cudaStream_t>(stream); }

// A mask of compute units says where a stream's kernels run, which has no meaning on other devices.
hipError_t create_with_mask(Table& table, hipStream_t* stream, uint32_t words, const uint32_t* mask) {
  if (!stream || !mask || words == 0) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaStreamCreate)(reinterpret_cast<cudaStream_t*>(stream)));
}

// The program's callback gets the status as HIP's code.
struct Callback {
  hipStreamCallback_t function;
  void* data;
};
void call_back(cudaStream_t stream, cudaError_t status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(std::bit_cast<hipStream_t>(stream), to_hip(status), callback->data);
}
hipError_t add_callback(Table& table, hipStream_t stream, hipStreamCallback_t function, void* data, unsigned flags) {
  if (!function) return hipErrorInvalidValue;
  auto callback = std::make_unique<Callback>(Callback{function, data});
  const cudaError_t code = MNEME_CUDA(table, cudaStreamAddCallback)(to_stream(stream), &call_back, callback.get(), flags);
  if (code == cudaSuccess) callback.release();
  return to_hip(code);
}

int get_device(Table&, hipStream_t) { return 0; }

hipError_t get_capture(Table& table, hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return to_hip(MNEME_CUDA(table, cudaStreamGetCaptureInfo)(to_stream(stream), reinterpret_cast<cudaStreamCaptureStatus*>(status),
                                                            id, nullptr, nullptr, nullptr, nullptr));
}
hipError_t get_capture_with_graph(Table& table, hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                  hipGraph_t* graph, const hipGraphNode_t** dependencies, size_t* count) {
  return to_hip(MNEME_CUDA(table, cudaStreamGetCaptureInfo)(
      to_stream(stream), reinterpret_cast<cudaStreamCaptureStatus*>(status), id, reinterpret_cast<cudaGraph_t*>(graph),
      reinterpret_cast<const cudaGraphNode_t**>(dependencies), nullptr, count));
}
hipError_t update_dependencies(Table& table, hipStream_t stream, hipGraphNode_t* dependencies, size_t count, unsigned flags) {
  return to_hip(MNEME_CUDA(table, cudaStreamUpdateCaptureDependencies)(
      to_stream(stream), reinterpret_cast<cudaGraphNode_t*>(dependencies), nullptr, count, flags));
}

// What is written back when an event is recorded is what AMD's caches are told.
hipError_t create_event(Table& table, hipEvent_t* event, unsigned flags) {
  constexpr unsigned kReleases = hipEventReleaseToDevice | hipEventReleaseToSystem;
  return to_hip(MNEME_CUDA(table, cudaEventCreateWithFlags)(reinterpret_cast<cudaEvent_t*>(event), flags & ~kReleases));
}

using Rows = HookList<
    MNEME_ROW(hipStreamCreate, cudaStreamCreate), MNEME_ROW(hipStreamCreateWithFlags, cudaStreamCreateWithFlags),
    MNEME_ROW(hipStreamCreateWithPriority, cudaStreamCreateWithPriority), MNEME_ROW(hipStreamDestroy, cudaStreamDestroy),
    MNEME_ROW(hipStreamQuery, cudaStreamQuery), MNEME_ROW_SPT(hipStreamQuery, cudaStreamQuery, ptsz),
    MNEME_ROW(hipStreamSynchronize, cudaStreamSynchronize), MNEME_ROW_SPT(hipStreamSynchronize, cudaStreamSynchronize, ptsz),
    MNEME_ROW(hipStreamWaitEvent, cudaStreamWaitEvent), MNEME_ROW_SPT(hipStreamWaitEvent, cudaStreamWaitEvent, ptsz),
    MNEME_ROW(hipStreamGetFlags, cudaStreamGetFlags), MNEME_ROW_SPT(hipStreamGetFlags, cudaStreamGetFlags, ptsz),
    MNEME_ROW(hipStreamGetPriority, cudaStreamGetPriority), MNEME_ROW_SPT(hipStreamGetPriority, cudaStreamGetPriority, ptsz),
    MNEME_EMULATED(hipExtStreamCreateWithCUMask, create_with_mask), MNEME_EMULATED(hipStreamAddCallback, add_callback),
    MNEME_EMULATED_AS_IS(hipGetStreamDeviceId, get_device), MNEME_ROW(hipStreamBeginCapture, cudaStreamBeginCapture),
    MNEME_ROW(hipStreamEndCapture, cudaStreamEndCapture), MNEME_ROW(hipStreamIsCapturing, cudaStreamIsCapturing),
    MNEME_ROW(hipThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode),
    MNEME_EMULATED(hipStreamGetCaptureInfo, get_capture), MNEME_EMULATED(hipStreamGetCaptureInfo_v2, get_capture_with_graph),
    MNEME_EMULATED(hipStreamUpdateCaptureDependencies, update_dependencies), MNEME_ROW(hipEventCreate, cudaEventCreate),
    MNEME_EMULATED(hipEventCreateWithFlags, create_event), MNEME_ROW(hipEventRecord, cudaEventRecord),
    MNEME_ROW(hipEventDestroy, cudaEventDestroy), MNEME_ROW(hipEventSynchronize, cudaEventSynchronize),
    MNEME_ROW(hipEventElapsedTime, cudaEventElapsedTime), MNEME_ROW(hipEventQuery, cudaEventQuery)>;

// HIP's function returns it.
cudaError_t end_of_get_device(Table& table, cudaStream_t stream, int* device) {
  if (!device) return cudaErrorInvalidValue;
  *device = MNEME_REAL(table, hipGetStreamDeviceId)(std::bit_cast<hipStream_t>(stream));
  return *device < 0 ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

using Ends = HookList<MNEME_WRITTEN_END(hipGetStreamDeviceId, cudaStreamGetDevice, end_of_get_device),
                      MNEME_END(hipEventCreateWithFlags, cudaEventCreateWithFlags, hipError_t (*)(hipEvent_t*, unsigned))>;

}  // namespace

void install_streams(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
