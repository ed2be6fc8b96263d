// The program that `mneme run` and `mneme record` start: finding it, checking that it can be recorded, and replacing the command
// by it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme::cli {

// The file that a shell would run for `name`: `name` itself when it has a slash in it, else the first executable of that name on
// the PATH. not_found: there is none. invalid_argument: what `name` names with a slash is no file, or is not executable.
Result<Path> find_program(const std::string& name);

// ok when the program, or a shared library that it is linked with, is recordable. ok also when that cannot be told before it
// runs: for a script, and for a program without CUDA, which may load libraries (of this it warns on standard error).
// invalid_argument: it was not built for Mneme, or was linked wrongly; the message says how to build it. incompatible: it was
// built for another version. io, not_found: it cannot be read.
Status check_recordable(const Path& program);

// The vendor's runtime that a recordable program calls, itself or in a shared library that it is linked with: "CUDA", "HIP".
// Empty: none that can be told before it runs. Fails as check_recordable() does where a file cannot be read or is of another
// version.
Result<std::string_view> runtime_of_program(const Path& program);

// What a program's kernels are recorded through.
enum class Front {
  linked,  // the calls of the CUDA runtime that a program which was built for recording is linked with
  driver,  // those of the CUDA driver, of any program
};
// The front for a program on a kind of device: `wanted`, where it is given. Else `of_rebuilt` for a program that was built for
// recording, or its linked calls where nothing can be preloaded into it; and the driver for any other. Without the driver, on the
// CPU device, only linked calls can be recorded. Failures: those of check_recordable(); invalid_argument: the library that stands
// before the driver cannot be preloaded into the program, or the device is not the driver's.
Result<Front> choose_front(const Path& program, DeviceKind device, std::optional<Front> wanted, Front of_rebuilt);
// The environment by which a program is recorded through the driver: `preload` is the library that stands before it, `recorder`
// what it loads. Libraries that are preloaded already stay so.
std::vector<std::pair<std::string, std::string>> driver_environment(const Path& preload, const Path& recorder);

// Replaces this process by the program. `arguments` begin with the program's name. `environment` is added to that of this
// process. Returns only on failure: io.
Status exec_application(const Path& program, const std::vector<std::string>& arguments,
                        const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace mneme::cli
