// What a module does with the address of a global variable.
#pragma once

namespace llvm {
class GlobalVariable;
}

namespace mneme::instrument {

struct PointerUses {
  bool written = false;  // something may store to the variable
  bool escapes = false;  // its address may come to stand in memory, or leave the module
};

// Follows the address through casts, address arithmetic, calls of functions that the module defines, and local variables that
// only hold it (unoptimised code keeps every argument in one). A use that it cannot follow counts as writing and as escaping.
PointerUses pointer_uses(const llvm::GlobalVariable& variable);

}  // namespace mneme::instrument
