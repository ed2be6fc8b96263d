// What stands in the place of a device where configurations are compiled and none is run: it tells what is known of their code.
#pragma once

#include <memory>

#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"
#include "mneme/replay/compile_launch.h"

namespace mneme {

// Each result has the stage `compiled`, and no failure where there is code for every instance. `recorded` must outlive the work.
std::unique_ptr<DeviceWork> create_compiled_work(const RecordedKernel& recorded, CodeFor made_for);

}  // namespace mneme
