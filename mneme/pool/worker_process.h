// The process that a pool's workers run in: the zygote, and what it forks.
#pragma once

namespace mneme {

// What `mneme worker DESCRIPTOR` does: reads the set-up, loads the recorded kernel, and then forks and is the workers that the
// pool behind the descriptor asks for, until that closes. The process must have one thread. Returns its exit status.
int run_worker_process(int descriptor);

}  // namespace mneme
