// RecordedCopies: what a device holds of a recording beside the memory that the kernel works on. The same for every process that
// replays it, so that one can take it over from another.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/device_buffer.h"
#include "mneme/memory/mapped_copy.h"

namespace mneme {

struct RecordedCopies {
  DeviceBuffer before;  // memory before the launch: all spans, or only the blocks that the kernel changes
  DeviceBuffer after;   // those blocks after the launch
  DeviceBuffer hashes;  // after the launch, of every block of all spans, in the plan's order
  DeviceBuffer masked;  // what a run that is verified starts from, in `masked_blocks`
  std::vector<MemoryRange> masked_blocks;
  DeviceBuffer masked_symbols;  // what globals at module symbols then start from, in the order of their names
  Bytes masked_bytes;
  std::string no_mask;  // why there is none, where it was looked for
  bool all_before = false;
  bool shareable = false;  // with other processes, where it is to be made

  explicit operator bool() const { return static_cast<bool>(hashes); }
};

// How much of a recording a device can hold.
struct CopySizes {
  Bytes mapped, changed;
  bool all_before = false;
};
// exhausted, with figures, when not even what the kernel changes can be held beside the memory that it works on.
Result<CopySizes> plan_copies(const MemoryPlan& plan, const DeviceProperties& device);

}  // namespace mneme
