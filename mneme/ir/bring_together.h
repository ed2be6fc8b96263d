// For rooms that look at a kernel as a whole (see access.h).
#pragma once

#include <string_view>

#include "mneme/base/status.h"

namespace llvm {
class Module;
}

namespace mneme::ir {

// Device functions into the kernel, and variables out of memory: accesses keep the types of the source. `what` is what errors
// call the work.
Status bring_together(llvm::Module& module, std::string_view what);

}  // namespace mneme::ir
