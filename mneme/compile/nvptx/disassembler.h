// Shows a cubin's instructions as text, by NVIDIA's program nvdisasm, which need not be installed.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::nvptx {

// The paths where nvdisasm may be: in CUDA_HOME/bin, /usr/local/cuda/bin, and the folders of PATH.
std::vector<std::string> nvdisasm_paths();

// Disassembles by the first of `paths` that can be executed. unavailable: none can (the message has all of them), or the
// program does not run to its end. incompatible: it refuses the cubin, in its own words. io: a temporary file cannot be
// written.
Result<std::string> disassemble(ByteSpan cubin, const std::vector<std::string>& paths);

}  // namespace mneme::nvptx
