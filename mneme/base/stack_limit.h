// The stack that LLVM needs. LLVM recurses as deep as code is nested, and the process ends where the stack is used up.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// The usual `ulimit -s`, and the least stack with which LLVM is started.
inline constexpr Bytes kUsualStack = 8_MiB, kLeastStack = 1_MiB;

// Raises the process's soft limit on the stack to kUsualStack, or to the hard limit where that is lower. The main thread's stack
// may then grow up to that. To be called before LLVM is given work. exhausted: the calling thread still has less than
// kLeastStack; the message has the command that helps.
Status provide_stack();

}  // namespace mneme
