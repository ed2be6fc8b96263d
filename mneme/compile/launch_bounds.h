// Launch bounds as attributes of a kernel, by the target that its module is for.
#pragma once

#include <llvm/IR/Function.h>

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/specialisation.h"

namespace mneme {

// Puts the bounds in the place of those that the kernel had. A kind of device has refused before what it has no use for
// (check_options of its row). invalid_argument, unsupported, incompatible: as specialise().
//  - for NVIDIA GPUs "nvvm.maxntid", "nvvm.minctasm", "nvvm.maxclusterrank", "nvvm.maxnreg";
//  - for AMD GPUs "amdgpu-flat-work-group-size", "amdgpu-waves-per-eu", "amdgpu-num-vgpr".
Status set_launch_bounds(llvm::Function& kernel, const LaunchBounds& bounds, const std::string& architecture);

}  // namespace mneme
