// Buffers: names for the parts of a recorded launch's memory, and which of these parts may differ from the recording by how much.
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

// A named part of one region of the plan.
struct Buffer {
  enum class Kind { argument, global, annotation, range };
  Kind kind = Kind::range;
  // Of an argument: "out"; "2", its index, where it has no name; "s+8" for the pointer at byte 8 of the struct `s`. Of a global
  // its name, of an annotation its tag, of a range the text that named it.
  std::string name;
  unsigned parameter = 0;  // of an argument: the index of the kernel's parameter
  size_t region = 0;       // index in the plan
  uint64_t offset = 0;     // bytes from the region's beginning
  Bytes size;
};
std::string describe(const Buffer& buffer);  // "argument 'out'", "global table", "annotation forces", "range 0x…+4096"
std::string describe(const Region& region);  // "allocation 0x7a0000000000", "host memory 0x…", "global table"

// All buffers of a launch that have a name: every pointer argument, and every pointer in a struct that is passed by value or in
// an argument of which only the size is known, with the memory from where it points to the end of the allocation or global; then
// every global; then every annotation with a tag. They may overlap. A pointer to no recorded memory is left out.
std::vector<Buffer> buffers_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan);

// What the buffer at a recorded address is called: "argument 'out'" for the argument that points there or nearest before it in
// the same region, else "global table". Empty where no argument and no global has the address. `place` is an address of the
// recording.
std::string name_of(DevicePtr place, const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan);

// The buffers that a user's name stands for. It is looked for in this order: an argument's name, a global, a tag (all annotations
// that have it), an argument's number, an address range ("0x7a0000000000+4096" or "0x7a0000000000-0x7a0000001000"). The number of
// a struct stands for its first pointer alone. not_found: it is none of these; the message lists the buffers that there are.
// invalid_argument: a range that is empty, or does not lie within one recorded region.
Result<std::vector<Buffer>> find_buffers(std::string_view name, const KernelRecord& kernel, const InstanceRecord& instance,
                                         const MemoryPlan& plan);

// A part of one region that is compared by a tolerance, and not byte for byte.
struct ToleratedRange {
  std::string name;  // as describe() says
  size_t region = 0;
  uint64_t offset = 0;
  Bytes size;  // whole elements
  Tolerance tolerance;
};

// What is compared by which tolerance: first the annotations of the recording are taken, then `tolerances` in their order, and
// each replaces the earlier ones where it overlaps them. The ranges do not overlap; they are sorted by region and offset. The
// last bytes of a buffer that are no whole element are compared exactly.
// Failures: those of find_buffers(); invalid_argument: a tolerance that check() refuses, or a buffer that is smaller than one
// element of the type or does not begin at a multiple of its size (of a complex type: of half of it); corrupt: an annotation of
// the recording lies in no recorded region.
Result<std::vector<ToleratedRange>> resolve_tolerances(const std::vector<BufferTolerance>& tolerances, const KernelRecord& kernel,
                                                       const InstanceRecord& instance, const MemoryPlan& plan);

}  // namespace mneme
