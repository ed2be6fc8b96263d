// The dialect of code for AMD GPUs: AMDGCN intrinsics, 32-bit pointers, wavefronts of 32 and 64.
#pragma once

#include "mneme/cpu/lower/dialect.h"

namespace mneme::cpu::amdgcn {

extern const Dialect kDialect;

}  // namespace mneme::cpu::amdgcn
