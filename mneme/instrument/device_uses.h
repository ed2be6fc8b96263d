// What code uses of the device beside memory.
#pragma once

#include <cstdint>

#include "mneme/instrument/closure.h"

namespace mneme::instrument {

// Flags of enum mneme_segment_uses, for all functions of the closure. Textures are found by LLVM's intrinsics and by the
// mnemonics of inline PTX, as which clang's headers write texture functions; the rest by functions of the device's system that
// are declared, or on AMDGCN by those of ROCm's library that hold the heap or read images. Code that is never reached counts too.
uint64_t device_uses(const Closure& closure);

// Whether a whole number may become an address in the closure's code, so that one among the arguments may be of memory: where the
// IR makes pointers of numbers, gives assembly what it likes, or calls functions of other files.
bool may_make_pointers(const Closure& closure);

}  // namespace mneme::instrument
