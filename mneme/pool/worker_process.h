// The processes of a pool's workers: the zygote, which runs `mneme worker`, and those that it forks.
#pragma once

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// The mneme that workers run: $MNEME_COMMAND, else that of the prefix in which this library lies, else the first one on the PATH.
// unavailable: there is none.
Result<Path> worker_command();

// What `mneme worker DESCRIPTOR` does: it reads the set-up, loads the recorded kernel, and is then the zygote, and in each forked
// process the worker, until the pool at the other end of the descriptor closes the connection. The process must have one thread.
// Returns the process's exit status.
int run_worker_process(int descriptor);

}  // namespace mneme
