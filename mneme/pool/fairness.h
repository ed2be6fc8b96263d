// Fairness: which worker gets the next job, and how far compilation may run ahead of the devices.
#pragma once

#include <map>

#include "mneme/pool/pool_worker.h"

namespace mneme {

using PoolWorkers = std::map<WorkerId, PoolWorker>;

// Of the workers of that role that have room for another job, the one that has the fewest, so that an idle worker comes before
// one that has a job already. Among equals it is the one that started first. Null: none has room.
PoolWorker* next_receiver(PoolWorkers& workers, WorkerRole role, size_t compile_depth = PoolWorker::kCompileDepth);

// How many jobs the compile workers have, all together.
size_t count_at_compilers(const PoolWorkers& workers);

// How many jobs a compile worker is to have at hand, so that it can assemble them together: the more, the more there are to be
// compiled, and fewer towards the end, when all workers are to end at one time. Two where no device takes jobs faster
// than they come.
size_t compile_depth(size_t to_compile, unsigned compile_workers, const PoolWorkers& workers);

// How many jobs may be at compile workers or wait for a device, all together: `depth` for each compile worker, three for each
// device. Where everything waits for the devices, compile workers therefore take turns, and leave cores to the processes that
// serve the devices, rather than compile the next jobs all at once.
size_t most_ahead_of_devices(unsigned compile_workers, size_t devices, size_t depth = PoolWorker::kCompileDepth);

}  // namespace mneme
