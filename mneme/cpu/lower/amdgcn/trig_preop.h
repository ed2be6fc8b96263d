// v_trig_preop_f64: bits of 2/pi, by which sine and cosine reduce large arguments.
#pragma once

#include "mneme/cpu/lower/amdgcn/emitter.h"

namespace mneme::cpu::amdgcn {

// For a number and the number of a segment: 53 bits of 2/pi as a double, from the segment's first bit on, which counts from where
// the number's exponent says.
llvm::Value* trig_preop(Emitter& emitter);

}  // namespace mneme::cpu::amdgcn
