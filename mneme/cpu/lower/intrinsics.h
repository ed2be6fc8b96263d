// Replaces device instructions, which have no meaning on a host, by plain IR: a vendor's intrinsics and inline assembly. What
// each does is its dialect's (dialect.h).
//
// Addresses: generic, global, constant, local and parameter addresses are host addresses. A shared address of NVPTX is the low 32
// bits of a host address inside the block's shared memory, so casts between the spaces change nothing and an address that went
// through a 32-bit register is found again (thread_state.h, shared_pointer()). Those of AMDGCN: amdgcn/narrow_pointers.h.
//
// The host code expects the default floating-point environment (round to nearest, subnormals kept, exceptions masked) and leaves
// it as it found it. Functions are free of state; a module is worked on by one thread at a time.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Value.h>

#include "mneme/base/status.h"

namespace mneme::cpu {

// Replaces every call of an intrinsic of the dialect, of llvm.trap and its like, and of inline assembly in `function` by host IR.
// `thread` is the function's `mneme_cpu_thread*` (mneme/cpu/run/image.h), valid everywhere in it.
// To be called once for a function, before or after the module's target triple and data layout are changed. It may add blocks.
//
// unsupported: an instruction that the CPU device does not have, by name; the function is then in an undefined but verifiable
// state and must not be used. invalid_argument: inline assembly that does not parse, with the statement.
Status lower_device_instructions(llvm::Function& function, llvm::Value* thread);

// Whether a thread that executes this instruction may have to wait for another thread of its block, or may end: barriers,
// collectives, ends. To be asked before lowering.
bool needs_fibers(const llvm::Instruction& instruction);

// Whether this instruction reads memory in a way that is meant to see what other threads write: volatile loads, atomic loads
// and atomic read-modify-writes, in IR or in assembly. A loop that waits for another thread has one. To be asked before lowering.
bool observes_other_threads(const llvm::Instruction& instruction);

// Whether lower_device_instructions() will change this instruction, so that a function that contains one needs `thread`.
bool is_device_instruction(const llvm::Instruction& instruction);

}  // namespace mneme::cpu
