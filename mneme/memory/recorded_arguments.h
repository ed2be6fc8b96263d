// Where the arguments of a recorded launch lie.
#pragma once

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// Says to a loaded kernel where its arguments lie in the parameters of the recorded launch (Kernel::expect_arguments). Fails as
// that does.
Status expect_recorded_arguments(Kernel& kernel, const KernelRecord& recorded);

}  // namespace mneme
