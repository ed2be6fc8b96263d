// Statistics of measured times, and how a time is shown.
#pragma once

#include <span>
#include <string>

#include "mneme/device/device.h"

namespace mneme {

struct TimeStatistics {
  size_t count = 0;
  Nanoseconds min{}, median{}, mean{};
  Nanoseconds standard_deviation{};  // of the sample (divided by count - 1); zero for fewer than two times
  double relative_error = 0;         // standard error of the mean, divided by the mean; zero for fewer than two times
};

TimeStatistics statistics_of(std::span<const Nanoseconds> times);

// A time as people read it, in the largest unit in which it is at least one: "912 ns", "12.31 us", "1.20 ms", "3.41 s". Every
// command and the Python package show the times of kernels with this function.
std::string format_time(Nanoseconds time);

}  // namespace mneme
