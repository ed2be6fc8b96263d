// What names the compiler of the CPU backend (Compiler::identity()), without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"

namespace mneme::cpu {

// The processor is part of it, as cpuid tells its model and features, since features that it lacks are refused. Never fails.
Result<std::string> compiler_identity(const std::string& architecture);

}  // namespace mneme::cpu
