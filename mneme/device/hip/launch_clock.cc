#include "mneme/device/hip/launch_clock.h"

namespace mneme::hip {
namespace {

constexpr char kNoProfiler[] = "Mneme does not read rocprofiler-sdk's records";

}  // namespace

Result<gpu::LaunchClock> HipLaunchClock::choose() {
  MNEME_ASSIGN(const std::string only, gpu::clock_wish("rocprofiler"));
  if (only == "rocprofiler") return error(Code::unavailable, "MNEME_CLOCK is rocprofiler: {}", kNoProfiler);
  return gpu::LaunchClock{nullptr, {"hip_event", only == "event" ? "MNEME_CLOCK is event" : kNoProfiler}};
}

}  // namespace mneme::hip
