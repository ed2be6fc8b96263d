// Instruments IR so that it notes its accesses, as AccessTracking says.
#pragma once

#include <llvm/IR/Module.h>

#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"

namespace mneme {

// Puts code before each load, store, atomic operation and memory intrinsic that may reach global memory, which notes the
// access. To be called before the user's pipeline, so that the notes are about what the source does. Does nothing where no
// range is tracked.
//
// Local variables become aligned for the widest access that they have room for: notes keep local arrays in memory that would
// else be in registers, and code may read these as vectors. unsupported, by name: the module has an access that cannot be
// followed, in inline assembly, by an intrinsic, or in a function that is not known.
Status track_accesses(llvm::Module& module, AccessTracking tracking);

}  // namespace mneme
