#include "mneme/device/cuda/launch_clock.h"

#include <cstdlib>

namespace mneme::cuda {
namespace {

// The instructions have to come from memory. Measured on an H200: 3100 results of 50 kernels, 0 to 5 microseconds.
constexpr Nanoseconds kFirstLaunch(3000);

Result<LaunchClock> choose(const std::vector<std::string>& cupti_paths) {
  const char* text = std::getenv("MNEME_CLOCK");
  const std::string only = text != nullptr ? text : "";
  if (!only.empty() && only != "cupti" && only != "event")
    return error(Code::invalid_argument, "choosing the clock of kernels: MNEME_CLOCK is '{}', not cupti or event", only);
  if (only == "event") return LaunchClock{nullptr, {"cuda_event", "MNEME_CLOCK is event"}};
  auto activity = ActivityClock::open(cupti_paths);
  if (activity.ok()) return LaunchClock{*activity, {"cupti_activity", "", kFirstLaunch}};
  if (only == "cupti") return activity.status().with_context("MNEME_CLOCK is cupti");
  return LaunchClock{nullptr, {"cuda_event", activity.status().message()}};
}

}  // namespace

Result<LaunchClock> LazyLaunchClock::get() {
  std::lock_guard lock(mutex_);
  if (!clock_) {
    MNEME_ASSIGN(clock_, choose(cupti_paths_));
  }
  return *clock_;
}

}  // namespace mneme::cuda
