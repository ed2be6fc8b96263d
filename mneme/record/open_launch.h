// OpenLaunch: one launch of the program, around the vendor's call that makes it.
#pragma once

#include <optional>

#include "mneme/record/process.h"

namespace mneme {

// While a launch is captured other threads wait. Where the call is left by another way than its return it counts as one that
// failed, and the others go on: by an exception of what stands behind it, or with its thread (pthread_cancel(), pthread_exit()).
class OpenLaunch {
 public:
  // Delegates, so that the capture ends where the timing cannot begin.
  OpenLaunch(Launch& launch, void* stream) : OpenLaunch(launch) {
    timed_ = recorder()->begin_timing(launch, capture_.get(), stream);
  }
  OpenLaunch(const OpenLaunch&) = delete;
  OpenLaunch& operator=(const OpenLaunch&) = delete;
  ~OpenLaunch() { end(false); }

  // The call has returned; `launched`: and has made the launch.
  void end(bool launched) {
    if (std::exchange(ended_, true)) return;
    recorder()->end_timing(timed_, launched);
    use_.end();
    if (capture_) recorder()->end_launch(std::move(capture_), launched);
  }

 private:
  explicit OpenLaunch(Launch& launch) : capture_(recorder()->begin_launch(launch)), use_(recorder()->gate()) {}

  Recorder::CapturePtr capture_;
  Gate::Use use_;
  std::optional<Recorder::Timing> timed_;
  bool ended_ = false;
};

}  // namespace mneme
