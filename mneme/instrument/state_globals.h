// Global variables whose bytes are state: what a recording must capture and a replay restore.
#pragma once

#include <llvm/ADT/SetVector.h>

#include <string>

namespace llvm {
class GlobalVariable;
class Module;
}  // namespace llvm

namespace mneme::instrument {

// True for a variable in global or constant memory that something may change after the image is loaded: the host (clang says
// externally_initialized), another file, or code of the module. An internal variable that no code writes is a constant that
// nobody called const. Declarations of such variables count.
bool is_state(const llvm::GlobalVariable& variable);

// Gives internal variables a visible symbol, so that the driver finds them by name. The host never knows these by name:
// clang gives what the host registers external linkage itself. `suffix` as for visible_name().
void make_visible(llvm::GlobalVariable& variable, llvm::StringRef suffix);

// enum mneme_global_flags of a variable; `clone` is its copy in an extracted module, where every use of it is the closure's.
uint32_t global_flags(const llvm::GlobalVariable& variable, const llvm::GlobalVariable& clone);

}  // namespace mneme::instrument
