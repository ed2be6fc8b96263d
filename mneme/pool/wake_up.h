// WakeUp: ends a wait of the pool's thread, and tells it what was cancelled; shared by the pool and its futures. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/pool/messages.h"

namespace mneme {

class WakeUp {
 public:
  static Result<std::shared_ptr<WakeUp>> create();  // io
  explicit WakeUp(Descriptor event) : event_(std::move(event)) {}

  void call();
  void call_to_cancel(JobId job);
  // Makes descriptor() unreadable until the next call. Returns what was cancelled since the last time.
  std::vector<JobId> take();
  int descriptor() const { return event_.number(); }

 private:
  Descriptor event_;
  std::mutex mutex_;
  std::vector<JobId> cancelled_;
};

}  // namespace mneme
