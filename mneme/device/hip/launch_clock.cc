#include "mneme/device/hip/launch_clock.h"

#include "mneme/device/hip/dispatch_clock.h"

namespace mneme::hip {

Result<gpu::LaunchClock> HipLaunchClock::choose() {
  MNEME_ASSIGN(const std::string only, gpu::clock_wish("rocprofiler"));
  if (only == "event") return gpu::LaunchClock{nullptr, {"hip_event", "MNEME_CLOCK is event"}};
  auto dispatches = DispatchClock::start();
  if (dispatches.ok()) return gpu::LaunchClock{*dispatches, {"rocprofiler_dispatch", ""}};
  if (only == "rocprofiler") return dispatches.status().with_context("MNEME_CLOCK is rocprofiler");
  return gpu::LaunchClock{nullptr, {"hip_event", dispatches.status().message()}};
}

}  // namespace mneme::hip
