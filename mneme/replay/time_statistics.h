// What a list of measured times says in a few numbers.
#pragma once

#include <span>

#include "mneme/device/device.h"

namespace mneme {

struct TimeStatistics {
  size_t count = 0;
  Nanoseconds min{}, median{}, mean{};
  Nanoseconds standard_deviation{};  // of the sample; zero for less than two
  double relative_error = 0;         // standard error of the mean, as a part of the mean; zero for less than two
};

TimeStatistics statistics_of(std::span<const Nanoseconds> times);

}  // namespace mneme
