// Lockstep: which accesses the lanes of a warp do together on the CPU device.
#pragma once

namespace llvm {
class Instruction;
class Module;
}  // namespace llvm

namespace mneme::cpu {

// Marks the volatile loads and stores that may be of shared memory. Code from before __syncwarp hands values from lane to lane by
// these, and counts on each lane doing one before any does the next. To be called while kernels have their calling convention.
void mark_lockstep(llvm::Module& module);
bool keeps_step(const llvm::Instruction& instruction);

}  // namespace mneme::cpu
