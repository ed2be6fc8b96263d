// What names the compiler of the CUDA backend (Compiler::identity()), without LLVM.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

std::string compiler_identity(const std::string& architecture, const PtxAssembler& assembler);
// The same with the assembler that create_compiler() takes. Failures: those of find_assembler().
Result<std::string> compiler_identity(const std::string& architecture);

}  // namespace mneme::nvptx
