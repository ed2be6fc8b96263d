// Digests of what code is made from. Two values with one digest make the same code.
#pragma once

#include <string>

#include "mneme/base/digest.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// This build of Mneme: the version, and the file that holds this code, so that two builds that make different code of the same
// input do not share any.
std::string build_identity();

// Which file it is, for an identity: name, size and time of change.
std::string describe_file(const std::string& path);

void add_to(Hasher& hasher, const AssemblerOptions& options);
void add_to(Hasher& hasher, const CompileOptions& options);

}  // namespace mneme
