// What the CPU device has no use for.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme::cpu {

// The one that code is made for.
inline constexpr char kArchitecture[] = "x86-64-v3";

// unsupported, naming the knob.
Status check_options(const CompileOptions& options);

}  // namespace mneme::cpu
