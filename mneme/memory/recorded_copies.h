// RecordedCopies: what a device holds of a recording beside the memory that the kernel works on. Every process that replays the
// recording needs the same copies, so that one process can take them over from another (shared_copies.h).
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/device_buffer.h"
#include "mneme/memory/mapped_copy.h"

namespace mneme {

struct RecordedCopies {
  DeviceBuffer before;  // memory before the launch: all spans where `all_before`, else only the blocks that the kernel changes
  DeviceBuffer after;   // those blocks after the launch
  DeviceBuffer hashes;  // 8 bytes for every block of all spans, as it is after the launch, in the plan's order
  DeviceBuffer masked;  // what the memory of `masked_blocks` holds when a run starts masked (output_mask.h)
  std::vector<MemoryRange> masked_blocks;
  // What globals at module symbols hold when a run starts masked: in the order of their names, each at a multiple of 256 bytes.
  DeviceBuffer masked_symbols;
  Bytes masked_bytes;       // how many bytes are masked, of memory and of globals
  std::string no_mask;      // why no byte is masked, where a mask was looked for and none was found
  bool all_before = false;  // `before` holds all spans
  bool shareable = false;   // buffers that are made here are allocated so that other processes can have them

  // Whether there are copies.
  explicit operator bool() const { return static_cast<bool>(hashes); }
};

// How much of a recording a device is to hold.
struct CopySizes {
  Bytes mapped, changed;    // all spans; the blocks that the recorded kernel changes
  bool all_before = false;  // there is room for a copy of all memory before the launch
};
// Decides from the device's total memory. exhausted: it has not even room for the memory that the kernel works on and two
// copies of what the kernel changes; the message has the figures.
Result<CopySizes> plan_copies(const MemoryPlan& plan, const DeviceProperties& device);

}  // namespace mneme
