// Fairness: which worker gets the next job, and how far compilation may run ahead of the devices.
#pragma once

#include <map>

#include "mneme/pool/pool_worker.h"

namespace mneme {

using PoolWorkers = std::map<WorkerId, PoolWorker>;

// Of the workers of that role that have room for another job, the one that has the fewest, so that an idle worker comes before
// one that has a job already. Among equals it is the one that started first. Null: none has room.
PoolWorker* next_receiver(PoolWorkers& workers, WorkerRole role);

// How many jobs the compile workers have, all together.
size_t count_at_compilers(const PoolWorkers& workers);

// How many jobs may be at compile workers or wait for a device, all together: two for each compile worker, three for each device.
// Where everything waits for the devices, compile workers therefore take turns, and leave cores to the processes that serve the
// devices, rather than compile the next jobs all at once.
size_t most_ahead_of_devices(unsigned compile_workers, size_t devices);

}  // namespace mneme
