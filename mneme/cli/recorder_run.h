// Runs a program with the recorder loaded: what `mneme record` and `mneme profile` have in common.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/cli/application.h"
#include "mneme/cli/installation.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/recording_options.h"

namespace mneme::cli {

// Runs the program as run_supervised() does, on a device of that kind, with the recorder behind that front and what the device
// needs loaded into it. Returns the program's wait status. io: the program cannot be started.
Result<int> run_with_recorder(const Path& program, const std::vector<std::string>& arguments, Front front, DeviceKind device,
                              const Installation& installation, const RecordingOptions& options);

}  // namespace mneme::cli
