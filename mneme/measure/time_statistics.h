// What a list of measured times says in a few numbers.
#pragma once

#include <span>
#include <string>

#include "mneme/device/device.h"

namespace mneme {

struct TimeStatistics {
  size_t count = 0;
  Nanoseconds min{}, median{}, mean{};
  Nanoseconds standard_deviation{};  // of the sample; zero for less than two
  double relative_error = 0;         // standard error of the mean, as a part of the mean; zero for less than two
};

TimeStatistics statistics_of(std::span<const Nanoseconds> times);

// A time for people, with the largest unit in which it is one at least: "912 ns", "12.31 us", "1.20 ms", "3.41 s". What shows a
// time of a kernel shows it so, in every command and in Python.
std::string format_time(Nanoseconds time);

}  // namespace mneme
