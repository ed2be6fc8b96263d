// Whether a kernel's threads know how they are divided into blocks. Where they do not, as many threads in other blocks do the
// same, whatever the grid.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

// Whether each thread knows of its place only its index in the whole grid, blockIdx * blockDim + threadIdx in each direction, and
// how many threads the grid has, and whether threads of a block have nothing in common: no shared memory, barrier, or operation
// of a warp. What cannot be told counts as no. Works on a copy of the module. not_found: there is no such kernel.
Result<bool> ignores_blocks(const Module& module, const std::string& kernel);

}  // namespace mneme::ir
