// The CUDA toolkit's program ptxas, run as a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

// Takes the first of `paths` that can be executed. unavailable: none can; the message has all of them.
Result<std::unique_ptr<PtxAssembler>> open_ptxas(const std::vector<std::string>& paths);

}  // namespace mneme::nvptx
