// The LLVM objects behind ir::Module, for the rooms that work on them with LLVM's own API. Not installed.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "mneme/ir/module.h"

namespace mneme::ir {

struct Module::Impl {
  std::unique_ptr<llvm::LLVMContext> context;  // declared first: destroyed last
  std::unique_ptr<llvm::Module> module;
};

inline llvm::Module& llvm_module(Module& module) { return *module.impl().module; }
inline const llvm::Module& llvm_module(const Module& module) { return *module.impl().module; }

}  // namespace mneme::ir
