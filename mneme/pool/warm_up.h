// Warming up: what the first compilation of a process costs is paid before there is work, by LLVM once, before workers are
// forked.
#pragma once

#include <string>

#include "mneme/compile/compiler.h"
#include "mneme/device/code_image.h"

namespace mneme {

// Translates a small kernel of its own, by a pipeline as a configuration has. Starts no thread; where it fails nothing is warmer.
void warm_llvm_up(DeviceKind kind, const std::string& architecture);

// Assembles it too, in the process that will do so again and again: the assembler may start threads, and has its own memory.
void warm_assembler_up(Compiler& compiler);

}  // namespace mneme
