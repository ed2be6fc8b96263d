// Global variables whose bytes are state: what a recording must capture and a replay restore.
#pragma once

#include <llvm/ADT/SetVector.h>

#include <string>

namespace llvm {
class GlobalVariable;
class Module;
}  // namespace llvm

namespace mneme::instrument {

// Whether something may change the variable after the image is loaded: the host (clang then says externally_initialized), another
// file, or code of the module. Only variables in global or constant memory are state. A declaration counts as state, since the
// file that defines it is not seen. An internal variable that no code writes does not: it is a constant without the word const.
bool is_state(const llvm::GlobalVariable& variable);

// Gives an internal variable a visible symbol, so that the driver finds it by name. Its name may change, since the host does not
// know it: clang itself gives external linkage to variables that the host registers. `suffix` is that of visible_name(). A
// variable that is not internal stays as it is.
void make_visible(llvm::GlobalVariable& variable, llvm::StringRef suffix);

// The flags of a variable, of enum mneme_global_flags. `clone` is its copy in an extracted module, where all uses of it are those
// of the closure; whether the address escapes is found there.
uint32_t global_flags(const llvm::GlobalVariable& variable, const llvm::GlobalVariable& clone);

}  // namespace mneme::instrument
