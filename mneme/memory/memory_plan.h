// MemoryPlan: what a session must have in device memory, from the two recorded states alone. No device, no I/O.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// A run of whole pages of one region, as offsets in it.
struct PageRun {
  uint64_t offset = 0;  // bytes from the region's address
  Bytes size;
};

// Where a region lives during replay.
enum class Placement {
  recorded_address,  // at the address of the recording
  module_symbol,     // wherever the loaded module has it (a global whose address stands nowhere in memory)
};

struct PlannedRegion {
  Region prologue;
  Region epilogue;  // same address, size and name
  Placement placement = Placement::recorded_address;
  uint64_t offset = 0;           // in the pristine and the expected copy, recorded_address only
  std::vector<PageRun> changed;  // pages that the recorded kernel wrote
};

// A run of whole granules of mapped memory that regions touch. What lies between them is slack: a kernel can write there
// without a fault.
struct MappedSpan {
  DevicePtr address;
  Bytes size;
  uint64_t offset = 0;          // in the two copies
  std::vector<size_t> regions;  // indices, by address
  MemoryRange range() const { return {address, size}; }
};

struct MemoryPlan {
  std::vector<PlannedRegion> regions;
  std::vector<MappedSpan> spans;  // by map_spans()
  Bytes copy_size;                // of each of the two copies; regions lie in them at `offset`, 512-byte aligned
};

// A global keeps its recorded address where its address may stand in memory: it escapes, or a parameter points into it.
// corrupt when the two states do not list the same regions.
Result<MemoryPlan> plan_memory(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryState& prologue,
                               const MemoryState& epilogue);

// Lays the copies out anew so that they hold whole spans of the mapped memory, slack included, each as one piece. Memory of the
// host is mapped in pages of the host.
void map_spans(MemoryPlan& plan, Bytes granularity);

}  // namespace mneme
