#include "mneme/device/launch_limits.h"

#include "mneme/device/backend.h"

namespace mneme {

Status raise_limits(Device& device, const LaunchLimits& limits) {
  const auto raise = backend_of(device.properties().kind).raise_limits;
  return raise ? raise(device, limits) : Status();
}

}  // namespace mneme
