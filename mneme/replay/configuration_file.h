// Files with one configuration, as --config of every command and `mneme.Config.read` take them. The file holds the
// configuration's JSON, or an object that has it under "configuration": what `mneme replay` prints, best.json, or one line of a
// log.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

// Reads the configuration in the file `path`. not_found, io: the file cannot be read. invalid_argument: it is no JSON or holds no
// configuration, or `path` is a folder. For another file of Mneme's (the plan or the log of a sweep, a summary, the description
// of a search) and for a folder of results the message says what it is, and where best.json is if there is one.
Result<Configuration> read_configuration(const std::string& path, FileSystem& files);
// Reads the configuration from a file's content. `name` is the file's path, by which messages call it. invalid_argument, as
// above.
Result<Configuration> parse_configuration(std::string_view text, const std::string& name);

// ok when the files that a configuration names are there: its IR, unchanged where its digest is given, and its plugins. Commands
// ask before anything that takes time. Failures: those of pin() and find_plugin_file().
Status check_files(const Configuration& configuration, FileSystem& files);

}  // namespace mneme
