// The bytes of a kernel argument as a constant of LLVM IR.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

#include "mneme/base/types.h"

namespace mneme {

// The constant of `type` that lies in memory as `bytes`. Null: no argument can have that type, or there are too few bytes. A
// generic pointer on an NVIDIA GPU becomes a pointer to the global space that is cast to the generic one, since a kernel's
// arguments point to global memory.
llvm::Constant* argument_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module);

// An initialiser for a variable that holds exactly these bytes, padding included, since members of a union may lie there. Where
// `type` has a pointer the initialiser has one too; its type is not `type`.
llvm::Constant* bytes_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module);

}  // namespace mneme
