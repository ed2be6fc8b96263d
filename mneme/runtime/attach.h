// The check that every interposer's mneme_attach begins with.
#pragma once

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"
#include "mneme/runtime/runtime_calls.h"

namespace mneme {

// Checks a table, and numbers it if no interposer has done so yet. Thread-safe. `calls` is the runtime whose slots the interposer
// replaces. unsupported: the object calls another vendor's runtime. incompatible: it was linked by a Mneme with another ABI
// version or another list of the runtime's functions; the message names the object and says to build it again. exhausted:
// MNEME_MAX_TABLES tables are in use.
Status accept_table(mneme_call_table& table, const RuntimeCalls& calls = cuda_runtime_calls());

}  // namespace mneme
