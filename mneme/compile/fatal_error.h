// LLVM's fatal errors as statuses, and LLVM made ready.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme {

// Registers the targets that Mneme compiles for. Thread-safe; cheap after the first call.
void initialize_llvm();

// Runs `work` and returns its status. Where LLVM ends in report_fatal_error instead: internal, "LLVM reported a fatal error: …"
// in LLVM's words; where it runs out of memory: exhausted. In both cases *abandoned becomes true: IR that `work` was changing is
// then in no defined state and must not be touched again, not even destroyed, so its owner lets go of it. Crashes are not caught.
// Calls on different threads are independent.
Status run_llvm(llvm::function_ref<Status()> work, bool* abandoned);

// Runs `work` in the same way on a copy of the module, which is let go of where LLVM left it in no defined state.
Status run_llvm_on_copy(const ir::Module& module, llvm::function_ref<Status(llvm::Module&)> work);

}  // namespace mneme
