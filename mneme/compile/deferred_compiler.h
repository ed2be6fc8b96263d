// A compiler that is made when it is first needed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mneme/compile/compiler.h"

namespace mneme {

// Makes the compiler by `make` when something besides find() and identity() is first asked of it, and answers with what that one
// answers; where `make` fails, it fails the same way each time, and assembler_arguments() is empty. `identity` is that of the
// compiler to be made.
std::unique_ptr<Compiler> defer_compiler(std::string identity, std::function<Result<std::unique_ptr<Compiler>>()> make);

}  // namespace mneme
