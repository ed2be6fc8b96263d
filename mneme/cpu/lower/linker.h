// The host's objects, linked (mneme/compile/linker.h).
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

// Links one relocatable object into a shared object that needs libc and libm. Failures: those of link_in_memory().
Result<ByteVector> link_shared_object(ByteSpan object);

}  // namespace mneme::cpu
