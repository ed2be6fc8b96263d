// bring_together(): a kernel in one function, for analyses of its IR.
#pragma once

#include <string_view>

#include "mneme/base/status.h"

namespace llvm {
class Module;
}

namespace mneme::ir {

// Inlines device functions into the kernels that call them, and promotes local variables to registers. Nothing else is changed,
// so that accesses keep the types of the source. `what` names the work in errors. internal: LLVM does not take the pipeline.
Status bring_together(llvm::Module& module, std::string_view what);

// For a module that was brought together: names what kernels read of their launch (name_launch_reads()), and drops what nothing
// uses. Errors as above.
Status name_launch(llvm::Module& module, std::string_view what);

}  // namespace mneme::ir
