// Refuses IR that would run something on the host besides the image's own kernels, for example while the image is loaded. IR
// may be an attacker's.
//
// There are two checks. The IR is checked for what is known to be harmful, since its names make the best messages. The object
// that LLVM makes of it is checked again, and there only what is known to be harmless passes: an attribute that a new version
// of LLVM obeys is thus refused too (docs/guide/trust.md).
#pragma once

#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

// To be called before anything is done with a module. unsupported: a variable or function has a name that only the lowering
// gives.
Status refuse_own_names(const llvm::Module& module);

// To be called after the user's passes, before the module is lowered. unsupported, by name: constructors, sections, ifuncs,
// assembly of the module, prologue data, variables and functions of the host, intrinsics of its processor, and the like.
Status refuse_host_code(const llvm::Module& module);

// Checks a relocatable object. unsupported: it has a section that an image does not have, a symbol that the dynamic loader acts
// on, or an undefined symbol that is none of the C library's functions which LLVM calls by itself. If LLVM made the call of
// such a symbol from an operation without an instruction, the message names the operation. corrupt: it is no object.
Status check_object(ByteSpan object);

}  // namespace mneme::cpu
