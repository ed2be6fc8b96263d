// What `mneme replay` tells a person at a terminal: the verdict, the times beside the recorded one, registers, and what differed.
#pragma once

#include <string>

#include "mneme/replay/result.h"

namespace mneme::cli {

// The text, several lines with a line feed at the end. `title` is the kernel's name; `pipeline` is what the code was compiled by
// (describe_pipeline()), `recorded` the launch as it was recorded. Of a replay that could not run the text says only that; the
// reason goes to standard error as a message.
std::string replay_text(const std::string& title, const std::string& pipeline, const ReplayResult& result,
                        const LaunchShape& recorded);

}  // namespace mneme::cli
