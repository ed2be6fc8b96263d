// What is found where memory is not as recorded, and where it may differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/element.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// A piece of memory that a tolerance is for, and how far it is from what was recorded.
struct ToleranceVerdict {
  std::string where;  // "argument 'out'", "global table", "annotation forces", "range 0x…+4096"
  DevicePtr address;
  Bytes size;
  Tolerance tolerance;
  ElementDifferences differences;
};

// One piece of memory whose content after the kernel is not what was recorded.
struct Mismatch {
  std::string where;  // "allocation 0x7a0000000000" or "global table"
  DevicePtr address;
  Bytes size;
  uint64_t differing_bytes = 0;
  uint64_t first_offset = 0;
  std::optional<ToleranceVerdict> tolerance;  // the one that it is not within
  bool outside = false;                       // of every allocation: mapped memory that belongs to none
  std::string buffer = {};                    // what lies at the first difference: "argument 'out'"; empty: it has no name
};

// Elements of one buffer that held wrong bytes before the run that was verified (see memory/output_mask.h), and hold them still.
struct NotWritten {
  std::string where;  // "argument 'out'"
  std::optional<ElementType> type;
  uint64_t elements = 0, not_written = 0;
  uint64_t first = 0;  // index of the first that was not
  uint64_t wrong = 0;  // that were written, and differ
};

// "memory differs in 2 places, first argument 'out' (12 bytes, from offset 0 on)"; "allocation 0x7a0000000000" where it has no
// name.
std::string describe(const std::vector<Mismatch>& mismatches);

}  // namespace mneme
