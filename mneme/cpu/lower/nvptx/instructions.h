// Replaces NVPTX intrinsics and inline PTX by plain IR: what intrinsics.h says, for this dialect.
//
// Both take the same way: an intrinsic is spelled as the PTX instruction it stands for ("llvm.nvvm.fma.rm.ftz.f" is
// "fma.rm.ftz.f32"), and one opcode table (ptx_asm_emit.h) says what each PTX instruction does. Semantics follow the PTX ISA:
// directed rounding is exact, shifts clamp, conversions saturate, NaN and signed zero as written there; `.approx` results are
// at least as exact as a GPU's and need not agree with it to the bit.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include "mneme/base/status.h"

namespace mneme::cpu::nvptx {

// unsupported: "inline PTX 'mma.sync.aligned…': …" or "intrinsic 'llvm.nvvm.tex.1d.v4f32.s32': …", by name. invalid_argument:
// inline PTX that does not parse, with the statement.
Status lower_instructions(llvm::Function& function, llvm::Value* thread);
// Barriers, warp collectives, exit, nanosleep, and inline PTX with one of these or with a backward branch.
bool needs_fibers(const llvm::Instruction& instruction);
// Inline PTX and intrinsics that load in such a way, or are atomic.
bool observes_other_threads(const llvm::Instruction& instruction);
bool is_device_instruction(const llvm::Instruction& instruction);

}  // namespace mneme::cpu::nvptx
