// What candidates cost a pool's device worker, which is a thread here: it gets jobs and tells results as in a pool.
#pragma once

#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/pool/setup.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct WorkerBench {
  PoolSetup setup;
  Device& device;
  CompiledCode code;  // of every candidate, each of which takes it for its own
  Configuration configuration;
  unsigned candidates = 500;
};

enum class Telling { before_the_next_begins, while_the_next_runs };

// Prints it. internal: a candidate failed. The recorded addresses must be free.
Status measure_worker(const WorkerBench& bench, Telling telling);

}  // namespace mneme
