// Makes LLVM ready, and turns its fatal errors into statuses.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme {

// Registers the targets that Mneme compiles for. Thread-safe; cheap after the first call.
void initialize_llvm();

// Runs `work` and returns its status. internal, "LLVM reported a fatal error: …" in LLVM's words: LLVM called
// report_fatal_error. exhausted: LLVM ran out of memory. In these two cases *abandoned becomes true. The IR that `work` was
// changing is then in no defined state and must not be touched again, not even be destroyed: its owner has to leak it. Crashes
// are not caught. Calls on different threads are independent.
Status run_llvm(llvm::function_ref<Status()> work, bool* abandoned);

// Runs `work` in the same way on a copy of the module. A copy that LLVM leaves in no defined state is leaked.
Status run_llvm_on_copy(const ir::Module& module, llvm::function_ref<Status(llvm::Module&)> work);

}  // namespace mneme
