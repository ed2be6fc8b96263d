// Makes instructions of constants in which pointers to LDS or private memory occur, since the host's addresses of these are known
// only while a thread runs.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>

namespace mneme::cpu::amdgcn {

// Every operand of the function's instructions that is such a constant becomes an instruction before its user, but for variables
// of LDS themselves, undefined values, and null pointers to private memory, which are the host's 0. `lds_begin` gives the pointer
// to the first byte of LDS, which is what a zero pointer to LDS is; it holds everywhere in the function.
void expand_constants(llvm::Function& function, llvm::function_ref<llvm::Value*()> lds_begin);

}  // namespace mneme::cpu::amdgcn
