// The program that `mneme run` and `mneme record` start: found, looked at, and started in place of the command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

// The file that `name` would run: itself when it has a slash in it, else from the PATH. not_found, or invalid_argument when it
// cannot be executed.
Result<Path> find_program(const std::string& name);

// ok when the program, or a shared library that it is linked with, is recordable, or when it cannot be told before it runs (a
// script, or a program without CUDA that may load libraries: the latter is said on standard error). Otherwise invalid_argument or
// incompatible, with how to build it.
Status check_recordable(const Path& program);

// Replaces the process by the program. `environment` is added to that of the process. Returns only on failure.
Status exec_application(const Path& program, const std::vector<std::string>& arguments,
                        const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace mneme::cli
