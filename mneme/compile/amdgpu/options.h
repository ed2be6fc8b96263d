// Options for AMD GPUs.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme::amdgpu {

// Refuses options that no AMD GPU can use, such as those of the PTX assembler, and bounds of blocks and clusters: unsupported,
// naming the knob. invalid_argument: there is no such version of code objects, or one that LLVM alone still writes.
Status check_options(const CompileOptions& options);

}  // namespace mneme::amdgpu
