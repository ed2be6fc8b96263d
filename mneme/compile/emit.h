// Has a target of LLVM's write the code of an optimised module.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme {

// Makes assembly or an object of the module, which is of no further use then. A plugin may write it instead
// (PassPlugins::generate()). `what` names the work in messages: "making PTX for sm_90". unsupported: LLVM cannot make code of it,
// in LLVM's words. unavailable: the target writes no such file.
Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                              const PassPlugins& plugins, const std::string& what);

// What a compilation has ended in, as it is told. That the target lacks the instruction for an intrinsic LLVM says by a fatal
// error, "Cannot select": it is unsupported, with `what` before it. All else stays as it is.
Status tell_lacking_instruction(const Status& ended, const std::string& what);

}  // namespace mneme
