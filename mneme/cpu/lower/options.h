// Options for the CPU device.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme::cpu {

// The only architecture that code is made for.
inline constexpr char kArchitecture[] = "x86-64-v3";

// Refuses options that the CPU device cannot use, such as those of the PTX assembler and launch bounds: unsupported, naming the
// knob.
Status check_options(const CompileOptions& options);

}  // namespace mneme::cpu
