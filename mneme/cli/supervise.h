// Runs a program as a child, in such a way that it meets signals and the terminal as if it ran alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

// Runs the program, waits for its end, and returns its wait status, as waitpid() has it. `arguments` begin with the program's
// name; `environment` is added to that of this process. Signals that others send to this process are passed on to the child;
// those that the terminal sends to both are not sent twice. When this process is killed the child is killed too. Used once in a
// process. io: the program cannot be started.
Result<int> run_supervised(const Path& program, const std::vector<std::string>& arguments,
                           const std::vector<std::pair<std::string, std::string>>& environment);

// Ends this process as a wait status says another one ended: the same exit status, or the same signal (without a core file of its
// own).
[[noreturn]] void end_as(int wait_status);

}  // namespace mneme::cli
