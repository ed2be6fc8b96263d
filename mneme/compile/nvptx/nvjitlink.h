// The CUDA toolkit's library nvJitLink, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

// Opens the first of `paths` that opens and has the functions; it stays open for the life of the process. unavailable: none
// does; the message has the reason of each.
Result<std::unique_ptr<PtxAssembler>> open_nvjitlink(const std::vector<std::string>& paths);

}  // namespace mneme::nvptx
