// The linker, in process: LLD.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

// Links one relocatable object into a shared object that needs libc and libm. Calls wait for each other: LLD has state of the
// process. internal, with the linker's own words, when it fails.
Result<ByteVector> link_shared_object(ByteSpan object);

}  // namespace mneme::cpu
