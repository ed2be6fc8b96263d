// A cubin's instructions as text, by NVIDIA's nvdisasm, which need not be there.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::nvptx {

// Where nvdisasm may be: in CUDA_HOME/bin, /usr/local/cuda/bin, and the folders of PATH.
std::vector<std::string> nvdisasm_paths();

// unavailable: none of `paths` is a program, with all of them in the message, or it does not run to its end. incompatible: it
// refuses the cubin, in its own words.
Result<std::string> disassemble(ByteSpan cubin, const std::vector<std::string>& paths);

}  // namespace mneme::nvptx
