// ptxas, run as a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

// The first of `paths` that is an executable file. unavailable: none, with where it was looked for.
Result<std::unique_ptr<PtxAssembler>> open_ptxas(const std::vector<std::string>& paths);

}  // namespace mneme::nvptx
