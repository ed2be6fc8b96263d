// A program run as a child that has the terminal and the signals to itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

// Runs the program and waits for its end; returns its wait status. Signals that this process is sent are passed on; those that
// the terminal sends to both are not sent twice. When this process is killed the child is killed too. Used once a process.
Result<int> run_supervised(const Path& program, const std::vector<std::string>& arguments,
                           const std::vector<std::pair<std::string, std::string>>& environment);

// Ends this process as a wait status says another one ended: the same exit status, or the same signal (without a core file of its
// own).
[[noreturn]] void end_as(int wait_status);

}  // namespace mneme::cli
