// AccessTracking: where code that is compiled to find out what it reads and writes notes it.
#pragma once

#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// The bytes of [base, base+size) are watched. Each has a byte at the same offset from `written` and from `read`, which becomes 1
// when it is stored to or loaded from, whatever came first.
struct TrackedRange {
  DevicePtr base;
  Bytes size;
  DevicePtr written, read;
};

// Ranges do not overlap. Empty: nothing is watched.
using AccessTracking = std::vector<TrackedRange>;

}  // namespace mneme
