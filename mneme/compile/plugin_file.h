// The file of a pass plugin, with no LLVM in sight: pass_plugins.h loads it.
#pragma once

#include <filesystem>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

// Where it lies, symbolic links followed. not_found: there is no such file, with the nearest name beside it.
Result<std::filesystem::path> find_plugin_file(const std::string& path);

}  // namespace mneme
