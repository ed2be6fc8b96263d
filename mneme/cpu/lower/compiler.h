// The compiler of the CPU backend: device IR → the user's pipeline → host IR → a shared object that cpu/run runs
// (mneme/cpu/run/image.h).
#pragma once

#include <memory>
#include <string>

#include "mneme/compile/compiler.h"

namespace mneme::cpu {

// `architecture` is the host's and must be kArchitecture (options.h); unsupported else. What the device code saw as its own
// architecture (__CUDA_ARCH) stays what it was. compile() has these failures besides those of Compiler: unsupported, naming an
// instruction or a function that the CPU device does not have, an option that it cannot use (check_options()), or what it
// refuses (refusal.h).
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture);

}  // namespace mneme::cpu
