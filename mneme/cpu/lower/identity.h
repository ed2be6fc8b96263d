// What names the compiler of the CPU backend (Compiler::identity()), and the plan of one, without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/deferred_compiler.h"

namespace mneme::cpu {

// The processor is part of it, as cpuid tells its model and features, since features that it lacks are refused. Never fails.
std::string compiler_identity(const std::string& architecture);
// Never fails.
Result<CompilerPlan> plan_compiler(const std::string& architecture);

}  // namespace mneme::cpu
