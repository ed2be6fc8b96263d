// Whether one module's kernel can be launched as another's.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

// ok when the kernel `name` of `replacement` can be launched in place of the one of `recorded`: it is for the same architecture,
// it is a kernel, and its parameters lie in the parameter buffer of a launch as the recorded ones do. Their names may differ.
//
// incompatible: the target, the number of parameters, or the type or size of a parameter differs, or `name` is a function and no
// kernel. not_found: it is not defined; the message lists the kernels that are.
Status check_replacement(const Module& recorded, const Module& replacement, const std::string& name);

// ok when the module defines the kernel. not_found, incompatible: as above.
Status check_defines_kernel(const Module& module, const std::string& name);

}  // namespace mneme::ir
