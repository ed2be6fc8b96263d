// The process that a pool's workers run in: the zygote, and what it forks.
#pragma once

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// The mneme that workers run in: $MNEME_COMMAND, else that of the library's prefix, else of the PATH. unavailable: there is none.
Result<Path> worker_command();

// What `mneme worker DESCRIPTOR` does: reads the set-up, loads the recorded kernel, and then forks and is the workers that the
// pool behind the descriptor asks for, until that closes. The process must have one thread. Returns its exit status.
int run_worker_process(int descriptor);

}  // namespace mneme
