// The CPU backend: device IR → the user's pipeline → host IR → a shared object that cpu/run runs (mneme/cpu/run/image.h).
#pragma once

#include <memory>
#include <string>

#include "mneme/compile/compiler.h"

namespace mneme::cpu {

// `architecture` is the host's, "x86-64-v3". What the device code saw as its own architecture (__CUDA_ARCH) stays what it was.
// What compile() adds to Compiler's failures: unsupported names the instruction or function that the CPU device does not have.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture);

}  // namespace mneme::cpu
