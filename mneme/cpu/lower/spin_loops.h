// Finds loops in which a thread may wait for what another thread writes. Where only that thread runs they do not end.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include <vector>

namespace mneme::cpu {

// The branches back of such loops: there the thread must let others run. To be asked before the device's instructions are
// lowered.
//
// A loop counts as one if it reads memory by volatile or atomic accesses, itself or in a function that it calls, unless it ends
// when no other thread runs. That is taken to be so of loops with an exit by their own count, of compare-and-swap loops that
// try again with the value that they found, and of loops whose only such accesses are atomic additions, which hand out work.
std::vector<llvm::Instruction*> spin_latches(llvm::Function& function);

}  // namespace mneme::cpu
