// The program that `mneme run` and `mneme record` start: finding it, checking that it can be recorded, and replacing the command
// by it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

// The file that a shell would run for `name`: `name` itself when it has a slash in it, else the first executable of that name on
// the PATH. not_found: there is none. invalid_argument: what `name` names with a slash is no file, or is not executable.
Result<Path> find_program(const std::string& name);

// ok when the program, or a shared library that it is linked with, is recordable. ok also when that cannot be told before it
// runs: for a script, and for a program without CUDA, which may load libraries (of this it warns on standard error).
// invalid_argument: it was not built for Mneme, or was linked wrongly; the message says how to build it. incompatible: it was
// built for another version. io, not_found: it cannot be read.
Status check_recordable(const Path& program);

// Replaces this process by the program. `arguments` begin with the program's name. `environment` is added to that of this
// process. Returns only on failure: io.
Status exec_application(const Path& program, const std::vector<std::string>& arguments,
                        const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace mneme::cli
