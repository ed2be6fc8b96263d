// What names the compiler for AMD GPUs (Compiler::identity()), without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"

namespace mneme::amdgpu {

// Never fails.
Result<std::string> compiler_identity(const std::string& architecture);

}  // namespace mneme::amdgpu
