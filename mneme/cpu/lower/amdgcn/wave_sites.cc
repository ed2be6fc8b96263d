#include "mneme/cpu/lower/amdgcn/wave_sites.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <vector>

#include "mneme/cpu/lower/amdgcn/instructions.h"

namespace mneme::cpu::amdgcn {
namespace {

constexpr uint32_t kSitesAFunction = 1 << 16;

bool has_collectives(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& i) { return meets_wave(i); });
}

bool calls_itself(llvm::Function& function) {
  std::vector<llvm::Function*> work{&function};
  llvm::SmallPtrSet<llvm::Function*, 16> seen;
  while (!work.empty()) {
    llvm::Function* next = work.back();
    work.pop_back();
    for (llvm::Instruction& instruction : llvm::instructions(*next)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee == &function) return true;
      if (callee && !callee->isDeclaration() && seen.insert(callee).second) work.push_back(callee);
    }
  }
  return false;
}

// Blocks in the order of the code, those of a loop one after another.
std::vector<llvm::BasicBlock*> order_blocks(llvm::Function& function) {
  llvm::ReversePostOrderTraversal<llvm::Function*> traversal(&function);
  std::vector<llvm::BasicBlock*> order(traversal.begin(), traversal.end());
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const auto outside = [&](llvm::BasicBlock* block) { return !loop->contains(block); };
    const auto header = std::ranges::find(order, loop->getHeader());
    std::stable_partition(header, order.end(), [&](llvm::BasicBlock* block) { return !outside(block); });
  }
  return order;
}

}  // namespace

void inline_collectives(llvm::Module& module) {
  llvm::SmallPtrSet<llvm::CallBase*, 8> stay;  // calls that LLVM cannot inline
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || !has_collectives(function) || calls_itself(function)) continue;
      std::vector<llvm::CallBase*> calls;
      for (llvm::User* user : function.users())
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user); call && call->getCalledFunction() == &function)
          calls.push_back(call);
      for (llvm::CallBase* call : calls) {
        llvm::InlineFunctionInfo info;
        if (stay.contains(call)) continue;
        if (llvm::InlineFunction(*call, info).isSuccess()) {
          changed = true;
        } else {
          stay.insert(call);
        }
      }
    }
  }
}

llvm::DenseMap<const llvm::Instruction*, uint32_t> number_sites(llvm::Function& function) {
  uint32_t next = kSitesAFunction;
  for (const llvm::Function& other : *function.getParent()) {
    if (&other == &function) break;
    if (!other.isDeclaration()) next += kSitesAFunction;
  }
  llvm::DenseMap<const llvm::Instruction*, uint32_t> sites;
  for (llvm::BasicBlock* block : order_blocks(function))
    for (const llvm::Instruction& instruction : *block)
      if (meets_wave(instruction)) sites[&instruction] = next++;
  return sites;
}

}  // namespace mneme::cpu::amdgcn
