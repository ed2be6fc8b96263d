// The linker, in process: LLD.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

// Links one relocatable object into a shared object that needs libc and libm. Calls on several threads wait for one another,
// since LLD has state of the process. internal, with the linker's own words: it fails. io, exhausted: there is no pipe or
// thread for its output.
Result<ByteVector> link_shared_object(ByteSpan object);

}  // namespace mneme::cpu
