// Warming up: what compilations cost besides their own work is paid before there is any, by LLVM once, before workers are forked.
#pragma once

#include <string>

#include "mneme/compile/compiler.h"
#include "mneme/device/code_image.h"

namespace mneme {

// Memory that a compilation frees stays with the process for the next one, and with those forked from it: at the end of the
// heap up to 64 MiB.
// Given back to the system and asked for again it is some 500 page faults a compilation.
void keep_freed_memory();

// Translates a small kernel of its own, by a pipeline as a configuration has. Starts no thread; where it fails nothing is warmer.
void warm_llvm_up(DeviceKind kind, const std::string& architecture);

// Assembles it too, in the process that will do so again and again: the assembler may start threads, and has its own memory.
void warm_assembler_up(Compiler& compiler);

}  // namespace mneme
