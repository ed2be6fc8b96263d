// MemoryPlan: what a session must have in device memory, and where. It is made from the recorded launch alone, without a device
// and without I/O. plan_memory() makes it; map_spans() adds what depends on the device.
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
  module_symbol,     // wherever the loaded module has it (a global whose address stands nowhere in memory, as far as is known)
};

struct PlannedRegion {
  Region prologue;
  Region epilogue;  // same address, size and name
  Placement placement = Placement::recorded_address;
  uint64_t offset = 0;           // in a copy of all mapped memory (MemoryPlan::copy_size); recorded_address only
  std::vector<PageRun> changed;  // pages that the recorded kernel wrote
};

// A run of mapped memory of the device, or of the host: all granules that some regions touch, where no unmapped granule lies
// between. The bytes of a span that belong to no region are slack: a kernel can write there without a fault.
struct MappedSpan {
  DevicePtr address;
  Bytes size;
  uint64_t offset = 0;          // in a copy of all mapped memory
  std::vector<size_t> regions;  // indices into MemoryPlan::regions, in the order of addresses
  MemoryRange range() const { return {address, size}; }
};

struct MemoryPlan {
  std::vector<PlannedRegion> regions;
  TextureSet textures;
  std::vector<MappedSpan> spans;  // in the order of addresses; empty before map_spans()
  // The size of a copy of all mapped memory: the spans, one behind the other. Before map_spans(): of the regions at recorded
  // addresses alone, each at a multiple of 512 bytes.
  Bytes copy_size;
};

// Plans the memory of one launch. All regions keep their recorded addresses, but for globals whose address can stand nowhere in
// memory. A global keeps its address where it escapes or is managed, where a parameter points into it, and where the kernel's
// record does not know it. Of a kernel that was recorded without IR all globals are where the loader puts them. corrupt: the two
// states do not list the same regions.
Result<MemoryPlan> plan_memory(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryState& prologue,
                               const MemoryState& epilogue);

// Finds the spans of mapped memory, and lays copies of it out anew so that they hold whole spans, slack included. `granularity`
// is the device's allocation_granularity; the host's memory is mapped in pages of kHostPage.
void map_spans(MemoryPlan& plan, Bytes granularity);

}  // namespace mneme
