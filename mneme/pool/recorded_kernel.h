// RecordedKernel: what workers know of a kernel and its recorded launches. It is read once, in the process that workers are
// forked from.
#pragma once

#include <memory>
#include <vector>

#include "mneme/memory/memory_plan.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/pool/setup.h"
#include "mneme/replay/recorded_code.h"
#include "mneme/store/database.h"

namespace mneme {

struct RecordedKernel {
  // Failures: those of Database::open(), load_kernel() and load_instance(), of plan_memory(), of check_device(), and of
  // RecordedCode::load().
  static Result<std::unique_ptr<RecordedKernel>> load(const PoolSetup& setup);

  // Holds the addresses of every launch that other things may take: called before a device is opened.
  HeldAddresses hold_addresses() const;

  struct Launch {
    InstanceRecord instance;
    MemoryPlan plan;    // without spans, which depend on the device
    double weight = 1;  // of its times, where those of several launches are added
  };

  Database database;
  KernelRecord kernel;
  std::vector<Launch> launches;  // one for each of PoolSetup::instances, in their order
  RecordedCode code;
};

}  // namespace mneme
