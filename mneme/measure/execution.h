// Execution: how the compiled kernel is run and timed. Changes no code.
#pragma once

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

struct Execution {
  unsigned iterations = 10;  // timed launches after the verified one, where `stop` is fixed
  unsigned warm_up = 0;      // launches before those, each from the restored state too
  StopWhen stop = StopWhen::fixed;
  unsigned min_iterations = 5;  // where `stop` is another
  unsigned max_iterations = 1000;
  double relative_error = 0.01;  // standard error of the mean, as a part of the mean
  double max_time = 1;           // seconds, restoring included
  CacheState l2 = CacheState::as_it_comes;
  bool shared_device = false;  // does not wait until no other Mneme runs something on the device
  friend bool operator==(const Execution&, const Execution&) = default;
};

// invalid_argument: bounds that contradict each other. unsupported: a knob without effect on the device, with both named.
Status check_execution(const Execution& execution, const DeviceProperties& device);

}  // namespace mneme
