// Compares the machine code of a kernel in two cubins.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/code_comparison.h"

namespace mneme::nvptx {

// Does the work of compare_machine_code() for cubins. What an instruction has of an address is filled in when the code is loaded:
// what it refers to is compared by name. Functions are compared that `made` has; in it only the kernel and what it calls is
// expected.
Result<CodeComparison> compare_cubins(ByteSpan program, ByteSpan made, const std::string& kernel);

}  // namespace mneme::nvptx
