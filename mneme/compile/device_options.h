// Checks for options that no device of a kind can use. Every compilation refuses them; whoever is about to compile many
// configurations can ask before.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// unsupported, naming the knob: no device of the kind can use an option. ok for a kind that no code can be compiled for.
Status check_device_options(const CompileOptions& options, DeviceKind kind);

}  // namespace mneme
