// The dialect of code for NVIDIA GPUs: NVPTX intrinsics and inline PTX.
#pragma once

#include "mneme/cpu/lower/dialect.h"

namespace mneme::cpu::nvptx {

extern const Dialect kDialect;

}  // namespace mneme::cpu::nvptx
