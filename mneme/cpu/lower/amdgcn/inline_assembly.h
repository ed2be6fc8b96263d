// Inline assembly of AMD GPUs: what the device libraries and common headers use.
//
// That is assembly of comments, which only keeps LLVM from moving a value, statements that wait for memory or advise the
// hardware, the barrier, and moves.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "mneme/cpu/lower/amdgcn/emitter.h"

namespace mneme::cpu::amdgcn {

// The value of the emitter's call, which is inline assembly; for one without a value anything but null. Null: there is a
// statement or an operand that the CPU device does not have.
llvm::Value* emit_assembly(Emitter& emitter);
// Whether a thread that executes it may have to wait.
bool assembly_waits(const llvm::CallBase& call);

}  // namespace mneme::cpu::amdgcn
