// What names the compiler for AMD GPUs (Compiler::identity()), and the plan of one, without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/deferred_compiler.h"

namespace mneme::amdgpu {

std::string compiler_identity(const std::string& architecture);
// Never fails.
Result<CompilerPlan> plan_compiler(const std::string& architecture);

}  // namespace mneme::amdgpu
