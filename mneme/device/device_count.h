// How many devices of a kind there are.
#pragma once

#include "mneme/base/status.h"
#include "mneme/device/code_image.h"

namespace mneme {

// Opens none of them. unavailable: what the kind needs is not on this machine.
Result<int> count_devices(DeviceKind kind);

}  // namespace mneme
