// Linking of device modules of one context. For this room and for `compile`.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>

#include "mneme/base/status.h"

namespace mneme::ir {

// Moves into `into` what it lacks and `from` has. Where both define a symbol, the definition in `into` stays. Internal symbols of
// `from` are renamed where their names are taken. The module flags of `into` stay as they are. Both modules must be of one
// context.
//
// incompatible: the targets differ, or LLVM's linker refuses (its words are in the message). The content of `into` is then
// undefined.
Status link_modules(llvm::Module& into, std::unique_ptr<llvm::Module> from);

}  // namespace mneme::ir
