// What compile workers do: compile a configuration for each recorded instance, as a replay of that instance would.
#pragma once

#include <memory>
#include <string>

#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"

namespace mneme {

// Compiles for devices of this kind and architecture ("sm_90"); none is needed. Instances that end in the same code share one
// object. `recorded` must outlive the work. unsupported: there is no compiler for that kind of device.
Result<std::unique_ptr<CompileWork>> create_compile_work(RecordedKernel& recorded, DeviceKind kind,
                                                         const std::string& architecture);

}  // namespace mneme
