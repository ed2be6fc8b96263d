// MemoryExtent: which memory a recorded launch is kept with.
#pragma once

#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

enum class MemoryExtent {
  all,        // what the program had allocated on the device, and all its pinned host memory
  reachable,  // of this what was found by following pointers from the arguments and the variables
};
std::string_view to_string(MemoryExtent extent);  // as in JSON: "all", "reachable"
// invalid_argument: there is no such word.
Result<MemoryExtent> parse_memory_extent(std::string_view word);

}  // namespace mneme
