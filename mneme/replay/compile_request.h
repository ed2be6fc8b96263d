// What the compiler is asked for a recorded launch: the same for a replay and for whoever only looks at the code.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/ir/module.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/facts.h"
#include "mneme/replay/kernel_code.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme {

struct RecordedLaunch {
  const KernelRecord& kernel;
  const InstanceRecord& instance;
  const MemoryPlan& plan;
};

struct CompileRequest {
  LaunchShape shape;  // that is launched
  CompileOptions options;
  SpecialisedLaunch specialised;
};

// Of what a configuration says that does not depend on the launch. Globals that the plan has at their recorded addresses are
// bound to them.
CompileOptions compile_options(const Configuration& configuration, const KernelRecord& kernel, const MemoryPlan& plan);

// All of it. Failures: those of Configuration::launch_shape and of resolve_facts.
Result<CompileRequest> compile_request(const Configuration& configuration, const RecordedLaunch& launch, KernelCode& code);

// The recorded code of a kernel. What the store says of a damaged file; corrupt.
Result<ir::Module> load_module(const Database& database, const KernelRecord& kernel);

}  // namespace mneme
