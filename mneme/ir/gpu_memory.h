// What LLVM IR says of the memory of a GPU: address spaces, and the scopes of atomic operations and fences. The spaces have the
// same numbers for NVIDIA's and AMD's GPUs. Other names, which one vendor has, stand beside each other here. Not installed.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace mneme::ir {

// NVIDIA's words: shared memory is AMD's LDS, local memory its private memory.
inline constexpr unsigned kGenericSpace = 0, kGlobalSpace = 1, kSharedSpace = 3, kConstantSpace = 4, kLocalSpace = 5;

// Whether a pointer to constant memory is the address of global memory that nothing writes meanwhile, as on AMD's GPUs. NVIDIA's
// constant bank has addresses of its own.
inline bool constants_are_global(const llvm::Module& module) { return module.getTargetTriple().isAMDGCN(); }

// Whether an operation of this scope is ordered for all threads of the device.
bool is_device_wide(llvm::SyncScope::ID scope, const llvm::LLVMContext& context);
// Whether an operation of this scope is ordered within a block at most.
bool is_within_a_block(llvm::SyncScope::ID scope, const llvm::LLVMContext& context);

}  // namespace mneme::ir
