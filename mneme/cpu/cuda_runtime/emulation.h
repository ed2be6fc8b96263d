// The CUDA runtime API over the CPU device, as an interposer: libmneme_emulation.so puts it into the call table of a recordable
// program, which then runs unchanged with no GPU and no driver. Kernels are lowered by the mneme command in a process of its own.
#pragma once

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"

namespace mneme::emulation {

// Fills every slot of the table; slots of functions that are not emulated return cudaErrorNotSupported and say so once.
// incompatible, with the table unchanged, for a table of another build.
Status attach(mneme_call_table& table);

}  // namespace mneme::emulation
