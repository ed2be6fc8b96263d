// Replaces AMDGCN intrinsics, inline assembly of AMD GPUs, and functions of their libraries by plain IR: what intrinsics.h says,
// for this dialect. What each intrinsic means is in its row (emitter.h).
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include "mneme/base/status.h"

namespace mneme::cpu::amdgcn {

// Also makes scopes of atomic accesses those that a host has. unsupported, by name: "intrinsic 'llvm.amdgcn.mfma…' in 'kernel'",
// "inline assembly 'v_foo …' in 'kernel'".
Status lower_instructions(llvm::Function& function, llvm::Value* thread);
bool needs_fibers(const llvm::Instruction& instruction);
// Whether the instruction is a collective of the wavefront.
bool meets_wave(const llvm::Instruction& instruction);
bool is_device_instruction(const llvm::Instruction& instruction);

}  // namespace mneme::cpu::amdgcn
