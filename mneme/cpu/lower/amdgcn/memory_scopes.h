// Scopes of memory: which threads an atomic access or a fence is for.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace mneme::cpu::amdgcn {

// Gives an atomic access or a fence a scope that a host has. A fence within a work-group orders only what the compiler may move,
// since one thread of the host runs all of a work-group; everything else is for all threads of the system.
void map_scope(llvm::Instruction& instruction);

// OpenCL's fence, which headers of ROCm declare and a library that clang does not link defines:
// __atomic_work_item_fence(flags, order, scope).
bool is_fence_function(const llvm::Function& function);
void lower_fence_function(llvm::CallBase& call);

}  // namespace mneme::cpu::amdgcn
