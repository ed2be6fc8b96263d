// Analyses: what passes of LLVM ask of a module, for one run of them.
#pragma once

#include <llvm/Passes/PassBuilder.h>

namespace mneme::ir {

// Analyses that a caller wants otherwise than LLVM has them are registered before the rest, by register_rest().
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;

  void register_rest(llvm::PassBuilder& builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
};

}  // namespace mneme::ir
