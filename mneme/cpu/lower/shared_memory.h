// Shared memory: variables in address space 3 get places in the shared memory of the running block.
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

// Where each shared variable lies, in bytes from the beginning of the block's shared memory, and how much static shared memory
// each kernel has, at what alignment. No two variables that one kernel can reach overlap.
struct SharedLayout {
  llvm::MapVector<llvm::GlobalVariable*, uint64_t> offsets;
  llvm::MapVector<llvm::Function*, uint64_t> static_bytes;
  llvm::MapVector<llvm::Function*, uint64_t> alignments;  // 16 or more
};

// Lays out the shared variables of the module. `kernels` are functions with the thread parameter. Variables of size 0 (extern
// __shared__) stand for the dynamic shared memory.
SharedLayout lay_out_shared_memory(llvm::Module& module, const std::vector<llvm::Function*>& kernels);

// Gives indices of 32 bits into shared memory the sign that they have on a device, whose addresses of shared memory have 32 bits:
// an unsigned one that is large goes backwards. To be called before lower_shared_memory().
void wrap_shared_indices(llvm::Module& module);

// Replaces every use of a shared variable by its address in the running thread's block, and removes the variables. A dynamic
// variable lies behind the kernel's static ones, aligned; the layout makes its place the same for all kernels that can reach
// it.
void lower_shared_memory(llvm::Module& module, const SharedLayout& layout);

}  // namespace mneme::cpu
