// Compares the machine code of a kernel in two code objects.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/code_comparison.h"

namespace mneme::amdgpu {

// Does the work of compare_machine_code() for code objects: instruction by instruction, and the kernel's descriptor but for where
// its code lies. Code objects are linked: an address that code computes from its own (s_getpc_b64 and two additions) depends on
// what else the program has. Where it points to is compared: by name, and what has none (texts and the like) by what it holds,
// of which up to 15 zeros at the end are taken for padding. Functions are compared that `made` has; in it only the kernel and
// what it calls is expected.
Result<CodeComparison> compare_code_objects(ByteSpan program, ByteSpan made, const std::string& kernel);

}  // namespace mneme::amdgpu
