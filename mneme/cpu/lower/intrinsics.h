// Replaces device instructions, which have no meaning on a host, by plain IR: NVPTX intrinsics and inline PTX.
//
// Both take the same way: an intrinsic is spelled as the PTX instruction it stands for ("llvm.nvvm.fma.rm.ftz.f" is
// "fma.rm.ftz.f32"), and one opcode table (ptx_asm_emit.h) says what each PTX instruction does. Semantics follow the PTX ISA:
// directed rounding is exact, shifts clamp, conversions saturate, NaN and signed zero as written there; `.approx` results are
// at least as exact as a GPU's and need not agree with it to the bit.
//
// Addresses: generic, global, constant, local and parameter addresses are host addresses. A shared address is the low 32 bits
// of a host address inside the block's shared memory, so casts between the spaces change nothing and an address that went
// through a 32-bit register is found again (thread_state.h, shared_pointer()).
//
// The host code expects the default floating-point environment (round to nearest, subnormals kept, exceptions masked) and leaves
// it as it found it. Functions are free of state; a module is worked on by one thread at a time.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Value.h>

#include "mneme/base/status.h"

namespace mneme::cpu {

// Replaces every call of an llvm.nvvm.* intrinsic, of llvm.trap and its like, and of inline assembly in `function` by host IR,
// and folds __nvvm_reflect. `thread` is the function's `mneme_cpu_thread*` (mneme/cpu/run/image.h), valid everywhere in it.
// To be called once for a function, before or after the module's target triple and data layout are changed. It may add blocks.
//
// unsupported: "inline PTX 'mma.sync.aligned…': …" or "intrinsic 'llvm.nvvm.tex.1d.v4f32.s32': …", by name; the function is
// then in an undefined but verifiable state and must not be used. invalid_argument: inline PTX that does not parse, with the
// statement.
Status lower_device_instructions(llvm::Function& function, llvm::Value* thread);

// Whether a thread that executes this instruction may have to wait for another thread of its block, or may end: barriers, warp
// collectives, exit, nanosleep, and inline PTX with one of these or with a backward branch. To be asked before lowering.
bool needs_fibers(const llvm::Instruction& instruction);

// Whether this instruction reads memory in a way that is meant to see what other threads write: volatile loads, atomic loads
// and atomic read-modify-writes, in IR or in PTX. A loop that waits for another thread has one. To be asked before lowering.
bool observes_other_threads(const llvm::Instruction& instruction);

// Whether lower_device_instructions() will change this instruction, so that a function that contains one needs `thread`.
bool is_device_instruction(const llvm::Instruction& instruction);

}  // namespace mneme::cpu
