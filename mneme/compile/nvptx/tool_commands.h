// How opt and llc make the PTX that the CUDA backend's compiler makes.
#pragma once

#include <functional>
#include <string>

#include "mneme/compile/compiler.h"
#include "mneme/compile/nvptx/nvptx_compilation.h"

namespace mneme::nvptx {

// Does the work of Compiler::tool_commands(). `run` runs a compilation of the module.
Result<ToolCommands> tool_commands(const CompileOptions& options, const std::string& architecture,
                                   const std::function<Status(NvptxCompilation&)>& run);

}  // namespace mneme::nvptx
