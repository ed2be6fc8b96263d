// What the CPU device does not take of IR, which may be an attacker's: what would run on the host while an image is loaded, or
// without being one of the image's own kernels.
//
// The IR is looked through for what names it best, and the object that LLVM makes of it is looked through again, where only what
// is known to be harmless passes: what a new version of LLVM can be told by an attribute is refused too (docs/guide/trust.md).
#pragma once

#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

// unsupported: a variable or function with a name that the lowering gives itself. Before anything is done with a module.
Status refuse_own_names(const llvm::Module& module);

// unsupported: constructors, sections, ifuncs, assembly of the module, prologue data, variables and functions of the host's, its
// intrinsics and its like, by name. Of a module as it is lowered, after every pass of the user's.
Status refuse_host_code(const llvm::Module& module);

// unsupported: a relocatable object with a section that an image does not have, with a symbol that the dynamic loader calls, or
// with an undefined one that is no function of the C library's that LLVM calls by itself; the message names the operation of
// which LLVM made a call of a function that an image does not have. corrupt: it is no object.
Status check_object(ByteSpan object);

}  // namespace mneme::cpu
