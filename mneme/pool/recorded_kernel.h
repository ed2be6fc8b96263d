// RecordedKernel: what workers know of a kernel and of its recorded launches. Read once, in the process that they are forked
// from.
#pragma once

#include <memory>
#include <vector>

#include "mneme/memory/memory_plan.h"
#include "mneme/pool/setup.h"
#include "mneme/replay/kernel_code.h"
#include "mneme/store/database.h"

namespace mneme {

struct RecordedKernel {
  // What the store says of a damaged database; not_found.
  static Result<std::unique_ptr<RecordedKernel>> load(const PoolSetup& setup);

  struct Launch {
    InstanceRecord instance;
    MemoryPlan plan;  // without spans, which are the device's
  };

  Database database;
  KernelRecord kernel;
  std::vector<Launch> launches;  // of the instances, in their order
  KernelSources sources;
};

}  // namespace mneme
