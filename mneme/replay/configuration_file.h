// A file with one configuration, as --config of every command and `mneme.Config.read` take it: its JSON alone, or an object that
// has it under "configuration", as `mneme replay` prints, and best.json and a line of a log are.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

// not_found, io: it cannot be read. invalid_argument: it is no JSON, or no configuration; what it is where that is known (the
// plan or the log of a sweep, a summary, what describes a search, a folder of results), and where the configuration is that was
// meant.
Result<Configuration> read_configuration(const std::string& path, FileSystem& files);
// The same of a file's content; `name` is what errors call it.
Result<Configuration> parse_configuration(std::string_view text, const std::string& name);

// Whether the files are there that a configuration names, its IR and its plugins: to be asked before anything that takes time.
// Failures: those of pin() and of find_plugin_file().
Status check_files(const Configuration& configuration, FileSystem& files);

}  // namespace mneme
