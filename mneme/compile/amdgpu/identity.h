// What names the compiler for AMD GPUs (Compiler::identity()), and the plan of one, without LLVM.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/deferred_compiler.h"

namespace mneme::amdgpu {

// With the device libraries in the first of the folders that has them, which may become part of the code.
std::string compiler_identity(const std::string& architecture, const std::vector<std::string>& library_folders);
// A plan with the folders where create_compiler() would look for device libraries now. Never fails.
Result<CompilerPlan> plan_compiler(const std::string& architecture);

}  // namespace mneme::amdgpu
