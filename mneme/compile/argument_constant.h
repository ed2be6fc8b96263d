// The bytes of a kernel argument as a constant of LLVM IR.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

#include "mneme/base/types.h"

namespace mneme {

// The value of `type` that lies in memory as `bytes`; null for a type that no argument has, or where there are too few bytes.
// A pointer in the generic space of an NVIDIA GPU is made one of the global space, which is where a kernel's arguments point.
llvm::Constant* argument_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module);

// An initialiser of exactly these bytes, padding included (a union's members may lie there), in which the pointers that `type`
// has are pointers.
llvm::Constant* bytes_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module);

}  // namespace mneme
