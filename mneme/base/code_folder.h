// Where this code lies on disk.
#pragma once

#include "mneme/base/file_system.h"

namespace mneme {

// The folder of the shared library or program that this code is part of: <prefix>/lib, <prefix>/bin or <prefix>/libexec/mneme.
// Other files of the installation are looked for relative to it, so an installation can be moved.
Path code_folder();

}  // namespace mneme
