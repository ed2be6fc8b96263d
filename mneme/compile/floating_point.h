// Puts into IR what CodegenOptions say of floating-point arithmetic.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetOptions.h>

#include "mneme/base/status.h"
#include "mneme/compile/codegen_options.h"

namespace mneme {

// Adds the fast-math flags to every floating-point operation. The contract flag is set everywhere for Contraction::fast, and
// removed everywhere for `on` and `off`. `ftz`, unless it is `recorded`, sets the attribute and the module flag that clang uses
// for it. To be called before prepare_module(), which by the module flag chooses the variants of libdevice's functions.
// invalid_argument: there is no such fast-math flag (the message has the nearest); or `contract` is among the flags and
// contraction is `on` or `off`.
Status set_floating_point(llvm::Module& module, const CodegenOptions& codegen);

// What code generation may fuse. `recorded` is whether the application was compiled with contraction.
llvm::FPOpFusion::FPOpFusionMode fusion_mode(Contraction contraction, bool recorded);

// Whether the options ask for contraction, whatever was recorded: by `contraction`, or by a fast-math flag.
bool contracts(const CodegenOptions& codegen);

}  // namespace mneme
