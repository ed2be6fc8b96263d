// Linking of device modules in one context, where what is already there wins. For the room itself and for `compile`.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>

#include "mneme/base/status.h"

namespace mneme::ir {

// Moves what `from` has and `into` lacks. A symbol that both define keeps the definition of `into`; internal symbols of `from`
// are renamed where they clash. Module flags of `into` stay as they are. Both modules are of one context.
//
// incompatible: the targets differ, or LLVM's linker refuses (its words are in the message); `into` is then undefined.
Status link_modules(llvm::Module& into, std::unique_ptr<llvm::Module> from);

}  // namespace mneme::ir
