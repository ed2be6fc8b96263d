// Digests of what code is made from. Values with the same digest make the same code.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// Names this build of Mneme, by its version, the file that holds this code (describe_file()) and the libraries in which code is
// made, libmneme_llvm.so and LLVM's own, which are looked for and not loaded. Two builds may make different code of the same
// input, and must not share it.
std::string build_identity();
// The names of these libraries, and the part of the identity that is about them: those that one of the folders has, each from the
// first that has it. Empty where none has any, or they are part of the program.
std::vector<std::string> code_libraries();
std::string describe_code_libraries(const std::vector<std::string>& folders);

// A file in words, for an identity: its path, size and time of change; the path alone where it cannot be looked at.
std::string describe_file(const std::string& path);

void add_to(Hasher& hasher, const AssemblerOptions& options);
// Reads the files of pass plugins: their content counts, and not where they lie.
void add_to(Hasher& hasher, const CompileOptions& options);

}  // namespace mneme
