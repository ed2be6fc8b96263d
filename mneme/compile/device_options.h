// Checks for options that no device of a kind can use. Every compilation refuses them; whoever is about to compile many
// configurations can ask before.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// unsupported, naming the knob: no device of the kind can use an option. ok for a kind that no code can be compiled for.
Status check_device_options(const CompileOptions& options, DeviceKind kind);

// For the rows of kinds whose code is not made from PTX: refuses what is asked of the PTX assembler. `device` names the kind in
// the message: "the CPU device".
Status refuse_assembler_options(const AssemblerOptions& options, std::string_view device);
// Refuses the first knob that is given: its name, "specialise.max_threads", and whether it is.
Status refuse_knobs(std::initializer_list<std::pair<const char*, bool>> knobs, std::string_view device);

}  // namespace mneme
