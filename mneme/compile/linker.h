// The linker, in process and in memory: LLD for ELF.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// Links the objects into a shared object. `arguments` are given to LLD as they are, before the objects, which come in their
// order. Calls on several threads wait for one another, since LLD has state of the process. internal, in the linker's own words:
// it fails. io, exhausted: there is no pipe or thread for its output.
Result<ByteVector> link_in_memory(const std::vector<std::string>& arguments, std::span<const ByteSpan> objects);

}  // namespace mneme
