// Execution: how the compiled kernel is run and timed. None of its knobs changes the code.
#pragma once

#include <string_view>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

// When timed launches end.
enum class StopWhen {
  fixed,           // after `iterations`
  relative_error,  // when the mean is known to `relative_error`
  time,            // after `max_time`
};
inline constexpr std::pair<const char*, StopWhen> kStopNames[] = {
    {"fixed", StopWhen::fixed}, {"relative_error", StopWhen::relative_error}, {"time", StopWhen::time}};

// What a timed launch finds in the device's L2 cache.
enum class CacheState {
  as_it_comes,  // what restoring the memory left there
  cold,         // nothing of the kernel's memory
  warm,         // the kernel's memory, as far as it fits
};
inline constexpr std::pair<const char*, CacheState> kCacheNames[] = {
    {"as_it_comes", CacheState::as_it_comes}, {"cold", CacheState::cold}, {"warm", CacheState::warm}};

std::string_view to_string(CacheState state);  // its name
// invalid_argument: there is no state of that name.
Result<CacheState> parse_cache_state(std::string_view name);

struct Execution {
  unsigned iterations = 10;  // how many launches are timed, where `stop` is fixed
  unsigned warm_up = 0;      // launches before the timed ones, each from restored memory too
  StopWhen stop = StopWhen::fixed;
  unsigned min_iterations = 5;     // bounds on the number of timed launches where `stop` is not fixed
  unsigned max_iterations = 1000;  // likewise
  double relative_error = 0.01;    // of StopWhen::relative_error: standard error of the mean, divided by the mean
  double max_time = 1;             // of StopWhen::time: seconds, restoring included
  CacheState l2 = CacheState::as_it_comes;
  bool shared_device = false;  // runs without DeviceLock, so that other processes may use the device meanwhile
  friend bool operator==(const Execution&, const Execution&) = default;
};

// ok when the device can do what is asked. invalid_argument: bounds that contradict each other. unsupported: a knob that has no
// effect on this device; the message names both.
Status check_execution(const Execution& execution, const DeviceProperties& device);

}  // namespace mneme
