// Digests of what code is made from. Values with the same digest make the same code.
#pragma once

#include <string>

#include "mneme/base/digest.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// Names this build of Mneme, by its version and the file that holds this code (describe_file()). Two builds may make different
// code of the same input, and must not share it.
std::string build_identity();

// A file in words, for an identity: its path, size and time of change; the path alone where it cannot be looked at.
std::string describe_file(const std::string& path);

void add_to(Hasher& hasher, const AssemblerOptions& options);
// Reads the files of pass plugins: their content counts, and not where they lie.
void add_to(Hasher& hasher, const CompileOptions& options);

}  // namespace mneme
