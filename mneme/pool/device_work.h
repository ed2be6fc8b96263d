// What device workers do: replay code that a compile worker has made, on each recorded instance.
#pragma once

#include <memory>

#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"

namespace mneme {

// Prepares a session for each instance. Where there are several, a configuration is right when it is right on each, and one of
// its timed runs is one of every instance: their times added. `recorded` and `device` must outlive the work. Failures: those of
// Session::prepare().
Result<std::unique_ptr<DeviceWork>> create_device_work(const RecordedKernel& recorded, Device& device);

}  // namespace mneme
