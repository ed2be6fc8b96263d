// A compiler that is made when it is first needed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mneme/compile/compiler.h"

namespace mneme {

// A compiler that is to be made, by what was found when it was planned, whatever the environment says when it is made.
struct CompilerPlan {
  std::string identity;                                     // its Compiler::identity(), found without LLVM
  std::function<Result<std::unique_ptr<Compiler>>()> make;  // may be called again where it failed
};

// Makes the compiler when something besides find() and identity() is first asked of it, and answers with what that one answers.
// Where the making fails, what was asked for fails so, and assembler_arguments() is empty; what is asked for next has it made
// again, since another thread may have the stack that one lacked. incompatible: what was made has another identity than was
// planned, since the tools have changed on the disk meanwhile; code of it would be kept under the name of the other.
std::unique_ptr<Compiler> defer_compiler(CompilerPlan plan);

}  // namespace mneme
