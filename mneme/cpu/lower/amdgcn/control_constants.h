// The constants that choose among variants of the device libraries' functions (__oclc_*).
#pragma once

#include <llvm/IR/Module.h>

namespace mneme::cpu::amdgcn {

// Defines those that the module refers to and does not define, as clang does by small libraries, some of which not every version
// links: nothing is approximated, denormal numbers are kept, square roots are rounded correctly; the target is that of the
// module's functions.
void define_controls(llvm::Module& module);

}  // namespace mneme::cpu::amdgcn
