// Shared memory: variables in address space 3 become places in the block's own.
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

// Where each shared variable lies from the start of the block's shared memory, so that no two that one kernel can reach overlap,
// and how much static shared memory each kernel has, at what alignment.
struct SharedLayout {
  llvm::MapVector<llvm::GlobalVariable*, uint64_t> offsets;
  llvm::MapVector<llvm::Function*, uint64_t> static_bytes;
  llvm::MapVector<llvm::Function*, uint64_t> alignments;  // from 16 on
};

// `kernels` are functions with the thread parameter. Variables of no size (extern __shared__) stand for the dynamic memory.
SharedLayout lay_out_shared_memory(llvm::Module& module, const std::vector<llvm::Function*>& kernels);

// Replaces every use of a shared variable by its address in the running thread's block, and removes the variables. A dynamic one
// lies at the kernel's static size rounded up to its alignment, which the layout makes the same for all kernels that share the
// function.
void lower_shared_memory(llvm::Module& module, const SharedLayout& layout);

}  // namespace mneme::cpu
