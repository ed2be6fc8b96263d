// Streams, and the capture of their work into graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "mneme/cpu/cuda_runtime/graph.h"

namespace mneme::emulation {

struct ProgramStream;

// One capture, from cudaStreamBeginCapture to cudaStreamEndCapture; streams join it by waiting for its events.
struct Capture {
  std::shared_ptr<Graph> graph;
  ProgramStream* origin = nullptr;
  std::vector<ProgramStream*> streams;  // all that take part
  unsigned long long id = 0;
};

// A stream of the program (mneme::Stream is the device's).
struct ProgramStream {
  unsigned long long id = 0;
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<Capture> capture;  // null: not capturing
  std::vector<GraphNode*> last;      // what the next captured operation depends on
};

// The stream of a handle, the default ones included; null for a handle that is none.
ProgramStream* find_stream(cudaStream_t handle);
bool is_capturing(cudaStream_t handle);

// Does the operation, or, while the stream is capturing, adds it to the graph.
cudaError_t submit(cudaStream_t stream, Operation operation);

// The parts of cudaEventRecord and cudaStreamWaitEvent that concern captures; false when the stream, or the event, is in none.
bool record_captured(ProgramStream& stream, Event& event);
bool wait_captured(ProgramStream& stream, Event& event);

// For cudaStreamDestroy: the stream leaves its capture.
void leave_capture(ProgramStream& stream);

}  // namespace mneme::emulation
