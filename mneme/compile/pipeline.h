// Pass pipelines: any string of LLVM's new pass manager, run on a module for the module's own target.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme {

struct TargetChoice {
  std::string cpu;       // "sm_90", "x86-64-v3"
  std::string features;  // LLVM's spelling, "+ptx87"; may be empty
  unsigned codegen_level = 3;
  llvm::FPOpFusion::FPOpFusionMode fusion = llvm::FPOpFusion::Standard;
};

// A target machine for the module's triple, which makes position-independent code. unsupported: LLVM has no such target.
// invalid_argument: it has no such feature.
Result<std::unique_ptr<llvm::TargetMachine>> create_target_machine(const llvm::Module& module, const TargetChoice& choice);

// Runs `pipeline` ("default<O3>", "sroa,instcombine,function(gvn)", …) with the target's own passes and the plugins', library
// information and alias analyses. `instcombine` without options of its own does not verify its fixpoint, which would end LLVM in
// a fatal error. invalid_argument: it does not parse; the message has LLVM's own words and the nearest pass that it
// knows, and the module is unchanged. LLVM's
// fatal errors are the caller's: run_llvm(). Errors reported to the context are internal.
Status run_pipeline(llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline,
                    const PassPlugins& plugins = {});
// The same where there may be no target, and where `add_passes` makes more passes known; `keep_on` is asked before each pass that
// may be left out: where it says no, the pipeline ends there.
Status run_pipeline(llvm::Module& module, llvm::TargetMachine* machine, const std::string& pipeline, const PassPlugins& plugins,
                    llvm::function_ref<void(llvm::PassBuilder&)> add_passes, llvm::function_ref<bool()> keep_on);

}  // namespace mneme
