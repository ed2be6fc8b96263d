// The program's events. Since all work is done when its call returns, an event is the time at which it was recorded.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mneme::emulation {

struct Capture;
struct GraphNode;

struct Event {
  using Clock = std::chrono::steady_clock;

  unsigned flags = 0;
  std::mutex mutex;
  std::optional<Clock::time_point> time;  // nothing: it was never recorded
  // If it was last recorded in a stream that was capturing: the capture, and the nodes that a wait for the event depends on.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> captured;

  void record() {
    std::lock_guard lock(mutex);
    time = Clock::now();
    capture.reset();
    captured.clear();
  }

  static Event* of(cudaEvent_t handle) { return reinterpret_cast<Event*>(handle); }
};

}  // namespace mneme::emulation
