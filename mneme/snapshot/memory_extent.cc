#include "mneme/snapshot/memory_extent.h"

#include "mneme/base/shown.h"

namespace mneme {

std::string_view to_string(MemoryExtent extent) { return extent == MemoryExtent::all ? "all" : "reachable"; }

Result<MemoryExtent> parse_memory_extent(std::string_view word) {
  for (MemoryExtent extent : {MemoryExtent::all, MemoryExtent::reachable})
    if (word == to_string(extent)) return extent;
  return error(Code::invalid_argument, "a launch is recorded with memory that is all or reachable, not '{}'", shown(word));
}

}  // namespace mneme
