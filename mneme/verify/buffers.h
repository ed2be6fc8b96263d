// Buffers: what the memory of a recorded launch is called, and which of it may differ by how much.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// A part of one region of the plan.
struct Buffer {
  enum class Kind { argument, global, annotation, range };
  Kind kind = Kind::range;
  std::string name;        // "out", "2" for an argument without a name, "s+8" for a pointer in a struct; a global's; a tag
  unsigned parameter = 0;  // which, for an argument
  size_t region = 0;       // index in the plan
  uint64_t offset = 0;     // in the region
  Bytes size;
};
std::string describe(const Buffer& buffer);  // "argument 'out'", "global table", "annotation forces", "range 0x…+4096"
std::string describe(const Region& region);  // "allocation 0x7a0000000000", "global table"

// Every pointer argument with the memory from where it points to the end of the allocation or global, every global, every
// annotation with a tag.
std::vector<Buffer> buffers_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan);

// What segments_of() calls the buffer at a recorded address: the argument that points there or nearest before, else the global.
// Empty where nothing names it.
std::string name_of(DevicePtr place, const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan);

// The buffers that a name stands for: an argument by name or number, a global, a tag (all that have it), or an address range,
// "0x7a0000000000+4096" or "0x7a0000000000-0x7a0000001000". not_found, listing what there is; invalid_argument for a range that
// is none.
Result<std::vector<Buffer>> find_buffers(std::string_view name, const KernelRecord& kernel, const InstanceRecord& instance,
                                         const MemoryPlan& plan);

// What is not compared to the byte.
struct ToleratedRange {
  std::string name;  // as describe() says
  size_t region = 0;
  uint64_t offset = 0;
  Bytes size;  // whole elements
  Tolerance tolerance;
};

// The annotations of the recording and then `tolerances`, each of which replaces what it overlaps. By region and offset. A
// buffer's last bytes that are no whole element stay exact. Failures of find_buffers; invalid_argument for a buffer that holds no
// element of the type, or not at a multiple of its size.
Result<std::vector<ToleratedRange>> resolve_tolerances(const std::vector<BufferTolerance>& tolerances, const KernelRecord& kernel,
                                                       const InstanceRecord& instance, const MemoryPlan& plan);

}  // namespace mneme
