// What code uses of the device beside memory.
#pragma once

#include <cstdint>

#include "mneme/instrument/closure.h"

namespace mneme::instrument {

// Flags of enum mneme_segment_uses, for all functions of the closure. Found by LLVM's intrinsics and by the mnemonics of inline
// PTX, as which clang's headers write texture functions; code that is never reached counts too.
uint64_t device_uses(const Closure& closure);

}  // namespace mneme::instrument
