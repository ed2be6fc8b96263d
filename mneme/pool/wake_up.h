// WakeUp: ends a wait of the pool's thread; shared by the pool and its futures. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"

namespace mneme {

class WakeUp {
 public:
  static Result<std::shared_ptr<WakeUp>> create();  // io
  explicit WakeUp(Descriptor event) : event_(std::move(event)) {}

  void call();
  void call_to_cancel() {
    cancelling_ = true;
    call();
  }
  // Whether something was cancelled since the last time.
  bool hear();
  int descriptor() const { return event_.number(); }

 private:
  Descriptor event_;
  std::atomic<bool> cancelling_ = false;
};

}  // namespace mneme
