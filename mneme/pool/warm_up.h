// Warming up: does what only a first compilation takes (LLVM builds its tables, the heap grows) before there is one. The zygote
// does it once, and the workers that it forks have it done.
#pragma once

#include <string>
#include <string_view>

#include "mneme/compile/compiler.h"
#include "mneme/device/code_image.h"

namespace mneme {

// From now on this process, and those forked from it, keep memory that a compilation frees for the next one, up to 64 MiB at the
// end of the heap. By default it is given back to the system, and asking for it again makes some 500 page faults for each
// compilation.
void keep_freed_memory();

// Translates a small kernel for the target ("nvptx", "amdgcn") by the default pipeline. Starts no thread. A failure is ignored.
void warm_llvm_up(DeviceKind kind, const std::string& architecture, std::string_view target);

// Translates and assembles the same kernel. Called in the worker and not in the zygote, since the assembler may start threads. A
// failure is ignored.
void warm_assembler_up(Compiler& compiler, std::string_view target);

}  // namespace mneme
