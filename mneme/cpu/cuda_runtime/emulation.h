// The emulation: the CUDA runtime API over the CPU device. It is an interposer: libmneme_emulation.so puts its functions into
// the call table of a recordable program, which then runs unchanged without a GPU and a driver. The mneme command lowers the
// kernels, in a process of its own.
#pragma once

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"

namespace mneme::emulation {

// Fills every slot of the table, or of the one in which a HIP program's calls end. A function that is not emulated returns
// cudaErrorNotSupported, and says so once on standard error. incompatible, with the table unchanged: the table is of another
// build.
Status attach(mneme_call_table& table);

}  // namespace mneme::emulation
