// Keeps in an image which source lines its instructions come from, so that a process without LLVM can say where a kernel
// faulted.
#pragma once

#include "mneme/base/types.h"

namespace mneme::cpu {

// Adds a line table (mneme/cpu/run/line_table.h) to a shared object that has debug information; without any, does nothing.
void keep_source_lines(ByteVector& shared_object);

}  // namespace mneme::cpu
