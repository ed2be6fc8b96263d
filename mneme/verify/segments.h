// Segments: all memory of a recorded launch, cut into pieces that have one name and one type of element.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/ir/access_types.h"
#include "mneme/verify/buffers.h"

namespace mneme {

// Told by the user: what a buffer holds. "out:f32"
struct BufferType {
  std::string buffer;
  ElementType type = ElementType::f32;
};
Result<BufferType> parse_buffer_type(std::string_view text);

// The type by which the recorded code accesses an argument's or a global's memory; empty where that is not known.
std::optional<ElementType> accessed_as(const Buffer& buffer, const KernelRecord& kernel, const ir::AccessTypes& accesses);

struct Segment {
  std::string where;   // "argument 'out'", "global table", "allocation 0x…"
  std::string buffer;  // by which an option can name it: "out", "table", "0x…+4096"
  size_t region = 0;
  uint64_t offset = 0;
  Bytes size;                       // whole elements
  std::optional<ElementType> type;  // empty: not known, bytes
};

// By region and offset; together they are all of the plan's memory. A type is the user's, else that of a tolerance, else the one
// by which the recorded code accesses it. Failures of find_buffers.
Result<std::vector<Segment>> segments_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan,
                                         const std::vector<ToleratedRange>& tolerances, const ir::AccessTypes& accesses,
                                         const std::vector<BufferType>& types);

}  // namespace mneme
