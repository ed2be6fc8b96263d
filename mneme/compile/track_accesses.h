// The instrumentation behind AccessTracking.
#pragma once

#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"

namespace mneme {

// Puts the note of it before each load, store, atomic and memory intrinsic that may reach global memory. To be run before the
// pass pipeline, so that what is noted is what the source does. Local variables, which stay in memory where their address is
// noted, are aligned for the widest access that they have room for. Does nothing where nothing is to be tracked.
// unsupported: the module has an access that cannot be followed (inline assembly, an intrinsic or a function that is not known),
// by name.
Status track_accesses(llvm::Module& module, AccessTracking tracking);

}  // namespace mneme
