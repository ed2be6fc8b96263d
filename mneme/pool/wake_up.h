// WakeUp: wakes the pool's thread while it waits, and tells it which jobs were cancelled. The pool and its futures share it.
// Thread-safe.
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

  void call();                     // wakes the thread
  void call_to_cancel(JobId job);  // the same, and the job is cancelled
  // Makes descriptor() unreadable until the next call. Returns the jobs that were cancelled since the last take().
  std::vector<JobId> take();
  int descriptor() const { return event_.number(); }  // readable after a call

 private:
  Descriptor event_;
  std::mutex mutex_;
  std::vector<JobId> cancelled_;
};

}  // namespace mneme
