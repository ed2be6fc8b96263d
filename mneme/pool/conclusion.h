// What a replay means to whoever gave the configuration.
#pragma once

#include "mneme/pool/pool_result.h"
#include "mneme/replay/result.h"

namespace mneme {

// Failure, reason and details; the configuration is the caller's.
PoolResult pool_result_of(ReplayResult result);

}  // namespace mneme
