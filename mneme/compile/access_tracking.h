// AccessTracking: what code that is compiled to find out what it reads and writes notes, and where.
//
// The notes are two planes of bytes, one for writes and one for reads, that lie wherever the process which runs the code has put
// them: the code finds their address in a variable of its own. So it is the same code in every process.
#pragma once

#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// The name of that variable, 8 bytes that the loaded module has. They must hold the notes' address before the code is launched.
inline constexpr char kAccessNotesVariable[] = "__mneme_access_notes";

// The bytes of [base, base+size) are watched. The one at base has its note `offset` behind the beginning of each plane.
struct TrackedRange {
  DevicePtr base;
  Bytes size;
  Bytes offset;
};

// A note becomes 1 when its byte is stored to (in the first plane) or loaded from (in the second, `plane` behind the first),
// whatever came first. Ranges do not overlap. Without ranges nothing is watched.
struct AccessTracking {
  std::vector<TrackedRange> ranges = {};
  Bytes plane = {};
};

}  // namespace mneme
