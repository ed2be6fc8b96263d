// Turns what a device worker's replay came to into the result of a configuration.
#pragma once

#include "mneme/pool/pool_result.h"
#include "mneme/replay/result.h"

namespace mneme {

// Fills in the failure, its reason and the details. `configuration` stays empty, for the caller to fill in. A code of a failed
// replay that can mean several things counts by the stage: in compiling or loading it is a compile_error, else an invalid_launch.
PoolResult pool_result_of(ReplayResult result);

}  // namespace mneme
