// What every interposer's mneme_attach does first.
#pragma once

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"

namespace mneme {

// incompatible when the table was linked by a Mneme with another ABI version or another list of CUDA runtime functions: the
// message names the object and says to build it again. exhausted when MNEME_MAX_TABLES are in use. Otherwise numbers the table,
// if no interposer has yet. Thread-safe.
Status accept_table(mneme_call_table& table);

}  // namespace mneme
