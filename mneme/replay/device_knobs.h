// Refuses knobs that no device of a kind has a use for, whatever the launch and its code, before a device is opened.
#pragma once

#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

// ok when devices of the kind can do what the configuration asks for. unsupported: a knob has no effect on any of them; the
// message names both. invalid_argument: the bounds on timed launches contradict each other, which is told only of kinds without
// hardware of their own (the CPU); for the others an open device's check_execution() tells, as it does of their caches.
Status check_knobs(const Configuration& configuration, DeviceKind kind);

}  // namespace mneme
