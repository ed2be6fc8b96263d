// What names the compiler of the CUDA backend (Compiler::identity()), and the plan of one, without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/deferred_compiler.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

std::string compiler_identity(const std::string& architecture, const PtxAssembler& assembler);
// A plan with the assembler that create_compiler() would take now. Failures: those of find_assembler().
Result<CompilerPlan> plan_compiler(const std::string& architecture);

}  // namespace mneme::nvptx
