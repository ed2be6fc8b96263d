// The program's streams, and the capture of their work into graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "mneme/cpu/cuda_runtime/graph.h"

namespace mneme::emulation {

struct ProgramStream;

// One capture, from cudaStreamBeginCapture to cudaStreamEndCapture. Other streams join it by waiting for an event that was
// recorded in it.
struct Capture {
  std::shared_ptr<Graph> graph;
  ProgramStream* origin = nullptr;      // the stream that began it; null: it has been destroyed
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

// The stream of a handle, default streams included; null for a handle of no stream.
ProgramStream* find_stream(cudaStream_t handle);
// False also for a handle of no stream.
bool is_capturing(cudaStream_t handle);

// Does the operation; while the stream is capturing, adds it to the capture's graph instead. cudaErrorInvalidResourceHandle:
// there is no such stream.
cudaError_t submit(cudaStream_t stream, Operation operation);

// What cudaEventRecord and cudaStreamWaitEvent do in a capture. They return false, and do nothing, if the stream that records,
// or the event that is waited for, is in none.
bool record_captured(ProgramStream& stream, Event& event);
bool wait_captured(ProgramStream& stream, Event& event);

// Takes a stream that is about to be destroyed out of its capture. The capture that the stream began itself is over, for all
// streams that take part.
void leave_capture(ProgramStream& stream);

}  // namespace mneme::emulation
