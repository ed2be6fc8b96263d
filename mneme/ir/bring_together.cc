#include "mneme/ir/bring_together.h"

#include <llvm/Passes/PassBuilder.h>

#include "mneme/ir/launch_reads.h"

namespace mneme::ir {
namespace {

Status run(llvm::Module& module, const char* pipeline, std::string_view what) {
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
  if (llvm::Error failure = builder.parsePassPipeline(passes, pipeline))
    return error(Code::internal, "{}: {}", what, llvm::toString(std::move(failure)));
  passes.run(module, modules);
  return {};
}

}  // namespace

Status bring_together(llvm::Module& module, std::string_view what) {
  return run(module, "cgscc(function(sroa),inline),function(sroa)", what);
}

Status name_launch(llvm::Module& module, std::string_view what) {
  name_launch_reads(module);
  // HIP's headers choose the direction by a switch, and AMD's device library computes with what it reads.
  return run(module, "function(sccp,instsimplify)", what);
}

}  // namespace mneme::ir
