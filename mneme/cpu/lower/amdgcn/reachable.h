// Functions that no kernel reaches.
#pragma once

#include <llvm/IR/Module.h>

namespace mneme::cpu::amdgcn {

// Removes functions that no kernel reaches by a call or by a pointer. The device libraries bring them, and with them calls of the
// host and instructions of image hardware, which would be refused.
void drop_unreachable(llvm::Module& module);

}  // namespace mneme::cpu::amdgcn
