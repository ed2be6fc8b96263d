// ROCm's device libraries: what clang has linked into a HIP kernel is in its recorded IR. What it has not, as where the program
// was compiled with -nogpulib or with another compiler, is linked here.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/amdgpu/library_folders.h"

namespace mneme::amdgpu {

// Links what the module needs of hip, opencl, ocml and ockl, and nothing else, from the first folder that has ocml.bc. Does
// nothing where no function of theirs is left open. What comes in is internal to the module. unavailable: a function is open, and
// no folder has the libraries; the message says what to install. incompatible: a library is no IR of this LLVM. unsupported, by
// name: no library has the function.
Status link_device_libraries(llvm::Module& module, const std::vector<std::string>& folders);

}  // namespace mneme::amdgpu
