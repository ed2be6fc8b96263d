// What compile workers do: ask the compiler for a configuration what a replay of each recorded instance would ask.
#pragma once

#include <memory>
#include <string>

#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"

namespace mneme {

// No device is needed. Instances whose requests end in the same code share its object. `recorded` must outlive the work.
// unsupported: there is no compiler for that kind of device.
Result<std::unique_ptr<CompileWork>> create_compile_work(RecordedKernel& recorded, DeviceKind kind,
                                                         const std::string& architecture);

}  // namespace mneme
