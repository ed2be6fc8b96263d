// What `mneme replay` tells a person at a terminal: the verdict, times beside the recorded one, registers, what differed.
#pragma once

#include <string>

#include "mneme/replay/result.h"

namespace mneme::cli {

// Several lines, with a line feed at the end. `title` is the kernel, as it is shown, and `recorded` the launch as it was
// recorded. Of a replay that could not run it says only that: the reason is a message on standard error.
std::string replay_text(const std::string& title, const ReplayResult& result, const LaunchShape& recorded);

}  // namespace mneme::cli
