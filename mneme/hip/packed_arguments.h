// Arguments of a kernel that a program has in one buffer (`extra`), as CUDA's functions take them: listed.
#pragma once

#include <vector>

#include "mneme/hip/table.h"

namespace mneme::hip {

// Fills `arguments` with pointers into the buffer, one for each argument of the kernel. `extra`: pairs of what it is and where,
// up to the end mark. hipErrorInvalidValue: it names no buffer, or something else, or the kernel takes more than the buffer
// holds. hipErrorNotSupported: nobody knows where the kernel's parameters lie.
hipError_t list_arguments(Table& table, const void* function, void** extra, std::vector<void*>& arguments);

}  // namespace mneme::hip
