// Loops in which a thread may wait for what another thread writes: with no one else running they would not end.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include <vector>

namespace mneme::cpu {

// The last instruction of each back edge of such loops, where the thread must let others run. A loop counts when whether it goes
// on depends only on what it reads by volatile or atomic accesses. Loops that end by their own count, and compare-and-swap loops
// that try again with the value that they found, do not: they end when no other thread runs. Asked before the device's
// instructions are lowered.
std::vector<llvm::Instruction*> spin_latches(llvm::Function& function);

}  // namespace mneme::cpu
