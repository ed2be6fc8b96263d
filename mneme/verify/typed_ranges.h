// Typed ranges: all memory of a recorded launch, cut into pieces that have one name and one type of element.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/ir/access_types.h"
#include "mneme/verify/buffers.h"

namespace mneme {

// What a buffer holds, as a user says it: "out:f32".
struct BufferType {
  std::string buffer;  // a name that find_buffers() takes
  ElementType type = ElementType::f32;
};
// invalid_argument: the text is not BUFFER:TYPE, or there is no such type.
Result<BufferType> parse_buffer_type(std::string_view text);

// The type by which the recorded code accesses the memory of a buffer, which is an argument or a global. Nothing where it is not
// known, as it never is behind a pointer in a struct.
std::optional<ElementType> accessed_as(const Buffer& buffer, const KernelRecord& kernel, const ir::AccessTypes& accesses);

struct TypedRange {
  std::string where;                // "argument 'out'", "global table", "allocation 0x…"
  std::string buffer;               // the name of its buffer for an option (find_buffers()): "out", "table", "0x…+4096"
  size_t region = 0;                // index in the plan
  uint64_t offset = 0;              // bytes from the region's beginning
  Bytes size;                       // whole elements
  std::optional<ElementType> type;  // nothing: it is not known, and elements are bytes
};

// The ranges of a launch, sorted by region and offset. They do not overlap, and together they are all regions of the plan.
//
// A range is named by the argument that points nearest before it, else by its global, else by its allocation; ranges with a
// tolerance, and buffers of `types`, are ranges of their own. The type is the one that the user gives in `types`, else that of
// the tolerance, else the one by which the recorded code accesses the memory. A range whose address is no multiple of the
// type's size has no type, and bytes at its end that are no whole element are a range without one.
//
// Failures: those of find_buffers() for a name in `types`.
Result<std::vector<TypedRange>> typed_ranges_of(const KernelRecord& kernel, const InstanceRecord& instance,
                                                const MemoryPlan& plan, const std::vector<ToleratedRange>& tolerances,
                                                const ir::AccessTypes& accesses, const std::vector<BufferType>& types);

}  // namespace mneme
