// What verification finds: memory that is not as recorded, and memory that may differ within a tolerance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/element.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// How far a piece of memory that a tolerance is for is from what was recorded, right or not.
struct ToleranceVerdict {
  std::string where;  // "argument 'out'", "global table", "annotation forces", "range 0x…+4096"
  DevicePtr address;
  Bytes size;
  Tolerance tolerance;
  ElementDifferences differences;
};

// One piece of memory whose content after the kernel is not what was recorded: a region, a range that a tolerance is for, or
// memory outside of every allocation. Where a region has tolerated ranges, the exact parts between them have a mismatch each, and
// all of these name the whole region.
struct Mismatch {
  // "allocation 0x7a0000000000" or "global table"; of a range, as ToleranceVerdict::where; outside of allocations, "16 B behind
  // the end of allocation 0x7a0000000000" or "outside of every allocation".
  std::string where;
  DevicePtr address;                          // of the region or range: where the piece is now
  Bytes size;                                 // of the region or range
  uint64_t differing_bytes = 0;               // may be 0 where the tolerance allows no recorded NaN
  uint64_t first_offset = 0;                  // of the first byte that differs, from `address`
  std::optional<ToleranceVerdict> tolerance;  // the tolerance that it is not within; nothing: it was compared byte for byte
  bool outside = false;                       // the memory is mapped and belongs to no allocation
  std::string buffer = {};                    // name of what lies at the first difference: "argument 'out'"; empty: it has none
};

// Elements of one typed range that were not written: they held masked bytes (memory/output_mask.h) before the run that was
// verified, and hold them still.
struct NotWritten {
  std::string where;                       // the range's: "argument 'out'"
  std::optional<ElementType> type;         // nothing: elements are bytes
  uint64_t elements = 0, not_written = 0;  // of the range in all; of these, not written
  uint64_t first = 0;                      // index of the first that was not written
  uint64_t wrong = 0;                      // elements of the range that were written, and differ
};

// "memory differs in 2 places, first argument 'out' (12 bytes, from offset 0 on)". Where nothing names what lies there, it says
// Mismatch::where. "memory is as recorded" for none.
std::string describe(const std::vector<Mismatch>& mismatches);

}  // namespace mneme
