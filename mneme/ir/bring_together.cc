#include "mneme/ir/bring_together.h"

#include "mneme/ir/analyses.h"
#include "mneme/ir/launch_reads.h"

namespace mneme::ir {
namespace {

Status run(llvm::Module& module, const char* pipeline, std::string_view what) {
  Analyses analyses;
  llvm::PassBuilder builder;
  analyses.register_rest(builder);
  llvm::ModulePassManager passes;
  if (llvm::Error failure = builder.parsePassPipeline(passes, pipeline))
    return error(Code::internal, "{}: {}", what, llvm::toString(std::move(failure)));
  passes.run(module, analyses.modules);
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
