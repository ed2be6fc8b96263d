// Lockstep: which accesses the lanes of a warp do together on the CPU device.
#pragma once

namespace llvm {
class Instruction;
class Module;
}  // namespace llvm

namespace mneme::cpu {

struct Dialect;

// Marks the volatile loads and stores that may be of shared memory. Code from before __syncwarp hands values from lane to lane by
// these, and counts on each lane doing one before any does the next. Of a kernel that has shared memory and no barrier, for GPUs
// whose warps run in lockstep (Dialect::is_barrier), all loads and stores of shared memory are marked: there the lanes of a warp
// hand each other values with nothing that says so. To be called while kernels have their calling convention.
void mark_lockstep(llvm::Module& module, const Dialect& dialect);
bool keeps_step(const llvm::Instruction& instruction);

}  // namespace mneme::cpu
