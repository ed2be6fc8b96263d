// Knobs that no device of a kind has a use for, whatever the launch and its code: refused before a device is opened.
#pragma once

#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

// unsupported, naming the knob and the kind.
Status check_knobs(const Configuration& configuration, DeviceKind kind);

}  // namespace mneme
