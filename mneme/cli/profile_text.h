// What `mneme profile` shows.
#pragma once

#include <string>

#include "mneme/cli/application.h"
#include "mneme/snapshot/launch_profile.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme::cli {

// A table of the kernels that take most time, `top` of them; one of the shapes in which they are launched; and lines about what
// is not in them: launches into graphs, processes that ended without telling. `launches` counts what the recorders saw.
std::string profile_text(const LaunchProfile& profile, const RecordingReport& launches, size_t top, Front front = Front::linked);

}  // namespace mneme::cli
