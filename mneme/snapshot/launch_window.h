// LaunchWindow: the part of a process whose launches are recorded (`mneme record --window FROM:TO`).
//
//   "100:200"   launches number 100 to 200 of the process, of whatever kernel; the first launch has the number 1
//   "2s:3.5s"   launches that are made from 2 to 3.5 seconds after the process's first launch
//   "100:"      one end may be left out
#pragma once

#include <cstdint>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

struct LaunchWindow {
  enum class Unit { launches, nanoseconds };
  Unit unit = Unit::launches;
  uint64_t from = 0, to = ~uint64_t{0};  // both belong to the window

  // `position` is the number of a launch, or the time since the first one.
  bool contains(uint64_t position) const { return position >= from && position <= to; }

  // Whether what contains() says of this position it says of all later ones.
  bool is_decided(uint64_t position) const { return position > to || (position >= from && to == ~uint64_t{0}); }

  // invalid_argument: the text is no window, or no launch can be in it.
  static Result<LaunchWindow> parse(const std::string& text);
  friend bool operator==(const LaunchWindow&, const LaunchWindow&) = default;
};

}  // namespace mneme
