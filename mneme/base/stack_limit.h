// The stack that LLVM needs: it recurses as deep as code is nested, and ends the process where the stack is used up.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// What `ulimit -s` says usually, and the least that LLVM is begun with.
inline constexpr Bytes kUsualStack = 8_MiB, kLeastStack = 1_MiB;

// Raises the process's soft limit on the stack to kUsualStack, or to the hard limit where that is lower: the main thread's stack
// grows by it from then on. exhausted: the calling thread still has less than kLeastStack; the message has the command that mends
// it. To be called before LLVM is given work.
Status provide_stack();

}  // namespace mneme
