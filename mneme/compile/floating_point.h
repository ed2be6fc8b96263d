// What CodegenOptions say of floating-point arithmetic, put into IR.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetOptions.h>

#include "mneme/base/status.h"
#include "mneme/compile/codegen_options.h"

namespace mneme {

// Sets fast-math flags on every operation, sets or removes the contract flag as `contraction` says, and lets clang's attribute
// and module flag say what `ftz` says: prepare_module, which folds __nvvm_reflect, then takes libdevice's variant. Before the
// pipeline. invalid_argument: a fast-math flag that there is not, with the nearest; contract among the flags and contraction on
// or off.
Status set_floating_point(llvm::Module& module, const CodegenOptions& codegen);

// What code generation may fuse, where the recording (`recorded`) was compiled with or without contraction.
llvm::FPOpFusion::FPOpFusionMode fusion_mode(Contraction contraction, bool recorded);

// Whether the options themselves, whatever was recorded, have multiplications and additions contracted.
bool contracts(const CodegenOptions& codegen);

}  // namespace mneme
