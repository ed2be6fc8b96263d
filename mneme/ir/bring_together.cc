#include "mneme/ir/bring_together.h"

#include <llvm/Passes/PassBuilder.h>

namespace mneme::ir {

Status bring_together(llvm::Module& module, std::string_view what) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error failure = builder.parsePassPipeline(passes, "cgscc(function(sroa),inline),function(sroa)"))
    return error(Code::internal, "{}: {}", what, llvm::toString(std::move(failure)));
  passes.run(module, modules);
  return {};
}

}  // namespace mneme::ir
