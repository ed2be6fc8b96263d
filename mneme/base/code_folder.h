// Where this code lies on disk.
#pragma once

#include "mneme/base/file_system.h"

namespace mneme {

// The folder of the shared library, or of the program, that this code is part of: <prefix>/lib, <prefix>/bin or
// <prefix>/libexec/mneme. What an installation has for itself is found from it, so that a prefix can be moved.
Path code_folder();

}  // namespace mneme
