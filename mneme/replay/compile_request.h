// CompileRequest: what the compiler is asked for a recorded launch under a configuration. A replay and `mneme ir`, which only
// shows code, make the same request, so that what is shown is what would run.
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
  LaunchShape shape;              // what is launched
  CompileOptions options;         // with the specialisation in it
  SpecialisedLaunch specialised;  // the specialisation, for the result
};

// The part of the request that does not depend on the launch: everything but the specialisation. Globals that the plan has at
// their recorded addresses are bound to them.
CompileOptions compile_options(const Configuration& configuration, const KernelRecord& kernel, const MemoryPlan& plan);

// The whole request. `code` is the IR that will be compiled. Failures: those of Configuration::launch_shape(), of
// check_block() and of resolve_facts().
Result<CompileRequest> compile_request(const Configuration& configuration, const RecordedLaunch& launch, KernelCode& code);

// Reads the recorded IR of a kernel. Failures: those of Database::load_ir(); corrupt: it is no LLVM IR. Bytes that are damaged in
// spite of their digest may crash LLVM.
Result<ir::Module> load_module(const Database& database, const KernelRecord& kernel);

}  // namespace mneme
