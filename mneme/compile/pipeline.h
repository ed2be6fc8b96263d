// Pass pipelines: any string of LLVM's new pass manager, run on a module for the module's own target.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme {

struct TargetChoice {
  std::string cpu;       // "sm_90", "x86-64-v3"
  std::string features;  // LLVM's spelling, "+ptx87"; may be empty
  unsigned codegen_level = 3;
  llvm::FPOpFusion::FPOpFusionMode fusion = llvm::FPOpFusion::Standard;
};

// A target machine for the module's triple, which makes position-independent code. unsupported: LLVM has no such target.
// invalid_argument: the target has no such feature.
Result<std::unique_ptr<llvm::TargetMachine>> create_target_machine(const llvm::Module& module, const TargetChoice& choice);

// Runs `pipeline` ("default<O3>", "sroa,instcombine,function(gvn)", …) on the module. The pipeline may name the target's own
// passes and those of plugins; alias analyses and library information are there. An `instcombine` whose options do not ask for
// it does not verify its fixpoint, since LLVM makes a fixpoint that it does not reach a fatal error. invalid_argument: the
// pipeline does not parse; the message has LLVM's own words and the nearest pass that LLVM knows, and the module is unchanged.
// internal: a pass reported an error to the context. To be called within run_llvm(), which catches LLVM's fatal errors.
// "as-built" in it is what clang runs for `as_built` ("default<O2>"), tuned as clang tunes that level; where `as_built` is empty
// or none of clang's levels, it does not parse.
Status run_pipeline(llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline,
                    const PassPlugins& plugins = {}, const std::string& as_built = {});
// The same with three more choices. `machine` may be null: the module then has no target. `add_passes` makes more passes known
// to the builder. `keep_on` is asked before each pass that is not required: if it returns false, that pass is left out.
Status run_pipeline(llvm::Module& module, llvm::TargetMachine* machine, const std::string& pipeline, const PassPlugins& plugins,
                    llvm::function_ref<void(llvm::PassBuilder&)> add_passes, llvm::function_ref<bool()> keep_on);

// The pipeline as LLVM's program opt is to be given it, so that it does not verify fixpoints either.
std::string as_opt_takes_it(const std::string& pipeline);

// The level of the code generator for these options. Where the pipeline names "as-built", 3, which is the default, stands for the
// level with which clang made the program's code: 1 for default<O1>, 2 for default<O2>.
unsigned codegen_level(const CompileOptions& options);

}  // namespace mneme
