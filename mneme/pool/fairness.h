// Whose turn it is: which worker gets the next job, and how far compilation runs ahead of the devices.
#pragma once

#include <map>

#include "mneme/pool/pool_worker.h"

namespace mneme {

using PoolWorkers = std::map<WorkerId, PoolWorker>;

// The worker of that role that has room for another job and has the fewest: an idle one before a second job for another. Among
// equals the one that started first. Null: none has room.
PoolWorker* next_receiver(PoolWorkers& workers, WorkerRole role);

// Jobs that compile workers have.
size_t count_at_compilers(const PoolWorkers& workers);

// The most jobs that may be compiled already or be at compile workers: those two have at hand, and those the devices have. Where
// the devices are what everything waits for, compilers then take turns and leave cores to the processes that serve the devices,
// rather than take the next jobs all at once.
size_t most_ahead_of_devices(unsigned compile_workers, size_t devices);

}  // namespace mneme
