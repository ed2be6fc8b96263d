// How many devices of a kind there are.
#pragma once

#include "mneme/base/status.h"
#include "mneme/device/code_image.h"

namespace mneme {

// Counts them without opening any. unavailable: what the kind needs is not on this machine. invalid_argument: the kind has no
// backend.
Result<int> count_devices(DeviceKind kind);

}  // namespace mneme
