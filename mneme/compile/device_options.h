// Options that no device of a kind has a use for. They are refused wherever code is compiled; who compiles much asks before.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// unsupported, naming the knob: an option that no code has on any device of the kind.
Status check_device_options(const CompileOptions& options, DeviceKind kind);

}  // namespace mneme
