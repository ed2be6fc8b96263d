// The LLVM objects behind ir::Module, for the rooms that work on them with LLVM's own API. Not installed.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "mneme/ir/module.h"

namespace mneme::ir {

struct Module::Impl {
  std::unique_ptr<llvm::LLVMContext> context;  // declared first: destroyed last
  std::unique_ptr<llvm::Module> module;
  std::optional<Digest> source;  // digest of the bytes that the module was read from; nothing once the module may have changed
};

// Whoever gets the module so may change it, so it no longer counts as what was read.
inline llvm::Module& llvm_module(Module& module) {
  module.impl().source.reset();
  return *module.impl().module;
}
inline const llvm::Module& llvm_module(const Module& module) { return *module.impl().module; }

// Whether the function has the calling convention of kernels: NVPTX's, AMDGCN's or SPIR's.
inline bool is_kernel(const llvm::Function& function) {
  const auto convention = function.getCallingConv();
  return convention == llvm::CallingConv::PTX_Kernel || convention == llvm::CallingConv::AMDGPU_KERNEL ||
         convention == llvm::CallingConv::SPIR_KERNEL;
}

}  // namespace mneme::ir
