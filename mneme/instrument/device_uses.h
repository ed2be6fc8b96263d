// What code uses of the device beside memory.
#pragma once

#include <cstdint>

#include "mneme/instrument/closure.h"

namespace mneme::instrument {

// Flags of enum mneme_segment_uses, for all functions of the closure. Textures are found by LLVM's intrinsics and by the
// mnemonics of inline PTX, as which clang's headers write texture functions; the rest by functions of the device's system that
// are declared, or on AMDGCN by those of ROCm's library that hold the heap or read images. Code that is never reached counts too.
uint64_t device_uses(const Closure& closure);

}  // namespace mneme::instrument
