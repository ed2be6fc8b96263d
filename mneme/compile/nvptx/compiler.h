// The compiler of the CUDA backend: device IR → the user's pipeline → PTX → cubin.
#pragma once

#include <memory>
#include <string>

#include "mneme/compile/compiler.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

// `architecture` is the device's, for example "sm_90"; a module that was made for sm_90a is compiled for that. The environment
// variable MNEME_PTX_ASSEMBLER (nvptxcompiler, nvjitlink, ptxas or driver) chooses the assembler. unsupported: LLVM does not
// know the architecture. Other failures are those of find_assembler().
//
// Unless the options say otherwise, multiplications and additions are contracted where the application's were. Debug lines are
// kept. compile() has these failures besides those of Compiler: incompatible (the module is for another target, or the
// assembler does not take the PTX or an option, in the tool's words); invalid_argument (a register cap that a kernel cannot
// have, or that the assembler does not follow); unsupported (the assembler has no such option).
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture);
// The same, but `search` chooses the assembler.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, const AssemblerSearch& search);
// The same with an assembler that was found before, which no other compiler uses.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, std::shared_ptr<PtxAssembler> assembler);

// Refuses options that are for AMD GPUs alone: unsupported, naming the knob.
Status check_options(const CompileOptions& options);

}  // namespace mneme::nvptx
