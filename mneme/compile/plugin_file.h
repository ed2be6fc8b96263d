// Finds the file of a pass plugin. This header includes nothing of LLVM; pass_plugins.h loads the file.
#pragma once

#include <filesystem>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

// The file's absolute path, with symbolic links followed. not_found: there is no such file; the message has the nearest name in
// the same folder.
Result<std::filesystem::path> find_plugin_file(const std::string& path);

}  // namespace mneme
