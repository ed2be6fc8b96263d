#include "mneme/cpu/lower/spin_loops.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

#include "mneme/cpu/lower/intrinsics.h"

namespace mneme::cpu {
namespace {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;

bool function_observes(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function),
                      [](const Instruction& i) { return observes_other_threads(i) && !i.use_empty(); });
}

// Also a call of a small function that does, which no pass has inlined.
bool observes(const Instruction& instruction) {
  if (instruction.use_empty()) return false;
  if (observes_other_threads(instruction)) return true;
  const auto* call = dyn_cast<llvm::CallBase>(&instruction);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && !callee->isDeclaration() && function_observes(*callee);
}

// Instructions of the loop that a value is made from.
class Slice {
 public:
  Slice(const llvm::Loop& loop, llvm::ArrayRef<llvm::Value*> from) : loop_(loop) {
    for (llvm::Value* value : from) visit(value);
    while (!work_.empty())
      for (llvm::Value* operand : work_.pop_back_val()->operands()) visit(operand);
  }
  const llvm::SmallPtrSetImpl<Instruction*>& instructions() const { return found_; }
  bool observes_memory() const {
    return llvm::any_of(found_, [](Instruction* i) { return observes(*i); });
  }

 private:
  void visit(llvm::Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    if (!instruction || !loop_.contains(instruction) || !found_.insert(instruction).second) return;
    work_.push_back(instruction);
  }
  const llvm::Loop& loop_;
  llvm::SmallPtrSet<Instruction*, 16> found_;
  llvm::SmallVector<Instruction*, 16> work_;
};

// x = x op constant, once round the loop.
bool is_counter(const llvm::Loop& loop, const Instruction& instruction) {
  const auto* phi = dyn_cast<llvm::PHINode>(&instruction);
  if (!phi || phi->getParent() != loop.getHeader()) return false;
  for (const llvm::Value* incoming : phi->incoming_values()) {
    const auto* step = dyn_cast<llvm::Operator>(incoming);
    const auto* inside = dyn_cast<Instruction>(incoming);
    if (!step || !inside || !loop.contains(inside)) continue;
    if ((isa<llvm::BinaryOperator>(inside) || isa<llvm::GetElementPtrInst>(inside)) && llvm::is_contained(step->operands(), phi))
      return true;
  }
  return false;
}

// A compare-and-swap whose expected value was read in the loop: what it fails on, it tries again with.
bool tries_again(const llvm::Loop& loop, Instruction& instruction) {
  if (auto* swap = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    return llvm::any_of(Slice(loop, {swap->getCompareOperand()}).instructions(),
                        [&](Instruction* i) { return observes(*i) || isa<llvm::LoadInst>(i); });
  }
  auto* call = dyn_cast<llvm::CallBase>(&instruction);
  if (!call || !observes(instruction)) return false;
  llvm::SmallVector<llvm::Value*, 4> values;
  for (llvm::Value* argument : call->args())
    if (!argument->getType()->isPointerTy()) values.push_back(argument);
  return Slice(loop, values).observes_memory();
}

// Each call moves on what the next one reads: a fetch-and-add that hands out work.
bool moves_on(const Instruction& instruction) {
  const auto* update = dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (!update) return false;
  const auto operation = update->getOperation();
  if (operation != llvm::AtomicRMWInst::Add && operation != llvm::AtomicRMWInst::Sub && operation != llvm::AtomicRMWInst::FAdd)
    return false;
  return !llvm::PatternMatch::match(update->getValOperand(), llvm::PatternMatch::m_Zero());
}

bool spins(const llvm::Loop& loop) {
  bool waits = false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (Instruction& instruction : *block) {
      if (tries_again(loop, instruction)) return false;
      waits |= observes(instruction) && !moves_on(instruction);
    }
  }
  if (!waits) return false;
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  for (llvm::BasicBlock* block : exiting) {
    llvm::Value* condition = nullptr;
    if (auto* branch = dyn_cast<llvm::BranchInst>(block->getTerminator()); branch && branch->isConditional())
      condition = branch->getCondition();
    if (auto* choice = dyn_cast<llvm::SwitchInst>(block->getTerminator())) condition = choice->getCondition();
    if (!condition) continue;
    const Slice slice(loop, {condition});
    const bool counted = llvm::any_of(slice.instructions(), [&](Instruction* i) { return is_counter(loop, *i); });
    if (counted && !slice.observes_memory()) return false;
  }
  return true;
}

}  // namespace

std::vector<Instruction*> spin_latches(llvm::Function& function) {
  std::vector<Instruction*> latches;
  if (function.isDeclaration()) return latches;
  if (llvm::none_of(llvm::instructions(function), [](Instruction& i) { return observes(i); })) return latches;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!spins(*loop)) continue;
    llvm::SmallVector<llvm::BasicBlock*, 4> blocks;
    loop->getLoopLatches(blocks);
    for (llvm::BasicBlock* block : blocks)
      if (!llvm::is_contained(latches, block->getTerminator())) latches.push_back(block->getTerminator());
  }
  return latches;
}

}  // namespace mneme::cpu
