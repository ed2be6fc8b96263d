// The CUDA backend: device IR → the user's pipeline → PTX → cubin.
#pragma once

#include <memory>
#include <string>

#include "mneme/compile/compiler.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

// `architecture` is the device's, for example "sm_90"; a module made for sm_90a is compiled for that. unsupported for one that
// LLVM does not know. The environment variable MNEME_PTX_ASSEMBLER (nvptxcompiler, nvjitlink, ptxas or driver) chooses the
// assembler.
//
// What compile() of it adds to Compiler's failures: incompatible (the module is for another target, or the assembler does not
// take the PTX or an option, in the tool's words); invalid_argument (it does not follow a register cap, in the tool's words);
// unsupported (the assembler has no such option). Multiplications and additions are contracted where the application's were.
// Debug lines are kept.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture);
// The same with another search for the assembler.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, const AssemblerSearch& search);

}  // namespace mneme::nvptx
