#include "mneme/cpu/cuda_runtime/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "mneme/cpu/cuda_runtime/event.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

void join(ProgramStream& stream, const std::shared_ptr<Capture>& capture) {
  if (stream.capture == capture) return;
  stream.capture = capture;
  stream.last.clear();
  capture->streams.push_back(&stream);
}

void add_missing(std::vector<GraphNode*>& to, const std::vector<GraphNode*>& from) {
  for (GraphNode* node : from)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

cudaError_t begin_capture_to(cudaStream_t handle, std::shared_ptr<Graph> graph, std::vector<GraphNode*> dependencies) {
  static std::atomic<unsigned long long> next_id = 1;
  ProgramStream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidValue;
  if (handle == nullptr || handle == cudaStreamLegacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  // A new graph has its handle from now on: cudaStreamGetCaptureInfo gives it to the program.
  if (!graph) give_handle(graph = std::make_shared<Graph>());
  capture->graph = std::move(graph);
  capture->origin = stream;
  capture->id = next_id++;
  join(*stream, capture);
  stream->last = std::move(dependencies);
  return cudaSuccess;
}

cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode) { return begin_capture_to(stream, nullptr, {}); }

cudaError_t begin_capture_to_graph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode) {
  std::shared_ptr<Graph> found = find_graph(graph);
  if (!found || (count != 0 && !dependencies)) return cudaErrorInvalidValue;
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < count; ++i) nodes.push_back(GraphNode::of(dependencies[i]));
  return begin_capture_to(stream, std::move(found), std::move(nodes));
}

// Every node that a joined stream added must have come back to the origin.
bool is_unjoined(const Capture& capture, const ProgramStream& stream) {
  std::vector<GraphNode*> reached = capture.origin->last;
  for (size_t i = 0; i < reached.size(); ++i) add_missing(reached, reached[i]->dependencies);
  return std::any_of(stream.last.begin(), stream.last.end(),
                     [&](GraphNode* node) { return std::find(reached.begin(), reached.end(), node) == reached.end(); });
}

cudaError_t end_capture(cudaStream_t handle, cudaGraph_t* graph) {
  ProgramStream* stream = find_stream(handle);
  if (!stream || !graph) return cudaErrorInvalidValue;
  *graph = nullptr;
  if (!stream->capture) return cudaErrorIllegalState;
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
  bool unjoined = std::any_of(capture->streams.begin(), capture->streams.end(),
                              [&](ProgramStream* other) { return is_unjoined(*capture, *other); });
  for (ProgramStream* other : capture->streams) {
    other->capture.reset();
    other->last.clear();
  }
  if (unjoined) return cudaErrorStreamCaptureUnjoined;
  *graph = capture->graph->handle();
  return cudaSuccess;
}

cudaError_t stream_is_capturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  ProgramStream* stream = find_stream(handle);
  if (!stream || !status) return cudaErrorInvalidValue;
  *status = stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t get_capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                             const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count) {
  if (cudaError_t result = stream_is_capturing(handle, status); result != cudaSuccess) return result;
  ProgramStream* stream = find_stream(handle);
  if (!stream->capture) return cudaSuccess;
  if (id) *id = stream->capture->id;
  if (graph) *graph = stream->capture->graph->handle();
  static_assert(sizeof(GraphNode*) == sizeof(cudaGraphNode_t));
  if (dependencies) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->last.data());
  if (edges) *edges = nullptr;
  if (count) *count = stream->last.size();
  return cudaSuccess;
}

cudaError_t update_capture_dependencies(cudaStream_t handle, cudaGraphNode_t* nodes, const cudaGraphEdgeData*, size_t count,
                                        unsigned flags) {
  ProgramStream* stream = find_stream(handle);
  if (!stream || (count != 0 && !nodes)) return cudaErrorInvalidValue;
  if (!stream->capture) return cudaErrorIllegalState;
  if (flags == cudaStreamSetCaptureDependencies) stream->last.clear();
  for (size_t i = 0; i < count; ++i) add_missing(stream->last, {GraphNode::of(nodes[i])});
  return cudaSuccess;
}

cudaError_t exchange_capture_mode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  if (!mode) return cudaErrorInvalidValue;
  std::swap(*mode, current);
  return cudaSuccess;
}

}  // namespace

bool is_capturing(cudaStream_t handle) {
  ProgramStream* stream = find_stream(handle);
  return stream && stream->capture;
}

cudaError_t submit(cudaStream_t handle, Operation operation) {
  ProgramStream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return run(operation);
  stream->last = {stream->capture->graph->add(std::move(operation), stream->last)};
  return cudaSuccess;
}

bool record_captured(ProgramStream& stream, Event& event) {
  if (!stream.capture) return false;
  std::lock_guard lock(event.mutex);
  event.capture = stream.capture;
  event.captured = stream.last;
  return true;
}

bool wait_captured(ProgramStream& stream, Event& event) {
  std::lock_guard lock(event.mutex);
  if (!event.capture || !event.capture->origin || event.capture->origin->capture != event.capture) return false;
  join(stream, event.capture);
  add_missing(stream.last, event.captured);
  return true;
}

void leave_capture(ProgramStream& stream) {
  if (!stream.capture) return;
  const std::shared_ptr<Capture> capture = std::exchange(stream.capture, nullptr);
  std::erase(capture->streams, &stream);
  if (capture->origin != &stream) return;
  capture->origin = nullptr;  // events may hold the capture for longer
  for (ProgramStream* other : std::exchange(capture->streams, {})) {
    other->capture.reset();
    other->last.clear();
  }
}

void fill_capture(Slots& slots) {
  MNEME_EMULATE_PTSZ(cudaStreamBeginCapture, begin_capture);
  MNEME_EMULATE_PTSZ(cudaStreamBeginCaptureToGraph, begin_capture_to_graph);
  MNEME_EMULATE_PTSZ(cudaStreamEndCapture, end_capture);
  MNEME_EMULATE_PTSZ(cudaStreamIsCapturing, stream_is_capturing);
  MNEME_EMULATE_PTSZ(cudaStreamGetCaptureInfo, get_capture_info);
  MNEME_EMULATE_PTSZ(cudaStreamUpdateCaptureDependencies, update_capture_dependencies);
  MNEME_EMULATE(cudaThreadExchangeStreamCaptureMode, exchange_capture_mode);
}

}  // namespace mneme::emulation
