// How the hostile run is run.
#pragma once

#include <string>

#include "mneme/device/code_image.h"

namespace mneme {

struct HostileRun {
  DeviceKind device = DeviceKind::cpu;
  int devices = 1;  // the first so many
  unsigned count = 120;
  uint64_t seed = 1;
};
HostileRun& hostile_run();

// The plugin's file: beside this program, as in a package, or where it was built.
std::string hostile_plugin();

}  // namespace mneme
