// How opt, llc and LLD make the code object that the compiler for AMD GPUs makes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mneme/compile/amdgpu/amdgpu_compilation.h"
#include "mneme/compile/compiler.h"

namespace mneme::amdgpu {

// Does the work of Compiler::tool_commands(). `run` runs a compilation of the module; the others are AmdgpuCompilation's.
Result<ToolCommands> tool_commands(const CompileOptions& options, const std::string& architecture,
                                   const std::vector<std::string>& library_folders,
                                   const std::function<Status(AmdgpuCompilation&)>& run);

// What LLD is given to link a code object of an object, but for the files and "-shared".
std::vector<std::string> linker_arguments();

}  // namespace mneme::amdgpu
