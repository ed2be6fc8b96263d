// Whether one module's kernel can be launched as another's.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

// Whether the kernel `name` of `replacement` takes the place of that of `recorded`: it is for the same kind of target, defined,
// a kernel, and its parameters lie in a launch's parameter buffer as the recorded ones do. Names of parameters are free.
//
// incompatible: another target, no kernel but a function, another number of parameters, another type or size of one. not_found:
// it is not defined there; the message lists the kernels that are.
Status check_replacement(const Module& recorded, const Module& replacement, const std::string& name);

}  // namespace mneme::ir
