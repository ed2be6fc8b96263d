#include "mneme/ir/analysis.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "mneme/ir/global.h"
#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

using State = std::shared_ptr<ModuleState>;

ValueRef refer_value(const State& state, llvm::Value* value) { return refer(state, value); }
std::optional<ValueRef> refer_if(const State& state, llvm::Value* value) {
  return value ? std::optional(refer(state, value)) : std::nullopt;
}

std::vector<ValueRef> refer_blocks(const State& state, llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  std::vector<ValueRef> all;
  for (llvm::BasicBlock* block : blocks) all.push_back(refer_value(state, block));
  return all;
}

Loop describe_loop(const State& state, llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  llvm::SmallVector<llvm::BasicBlock*> latches, exits;
  loop.getLoopLatches(latches);
  loop.getUniqueExitBlocks(exits);
  const unsigned trips = evolution.getSmallConstantTripCount(&loop);
  return {.header = refer_value(state, loop.getHeader()),
          .blocks = refer_blocks(state, loop.getBlocks()),
          .latches = refer_blocks(state, latches),
          .exits = refer_blocks(state, exits),
          .preheader = refer_if(state, loop.getLoopPreheader()),
          .depth = loop.getLoopDepth(),
          .parent = std::nullopt,
          .trip_count = trips > 0 ? std::optional<uint64_t>(trips) : std::nullopt,
          .induction = refer_if(state, loop.getInductionVariable(evolution))};
}

template <typename Tree>
std::vector<DominatorNode> nodes_of(const State& state, Tree& tree) {
  std::vector<DominatorNode> all;
  llvm::SmallVector<llvm::DomTreeNode*> waiting = {tree.getRootNode()};
  while (!waiting.empty()) {
    llvm::DomTreeNode* node = waiting.pop_back_val();
    if (llvm::BasicBlock* block = node->getBlock()) {
      llvm::DomTreeNode* above = node->getIDom();
      all.push_back({refer_value(state, block), refer_if(state, above ? above->getBlock() : nullptr)});
    }
    for (llvm::DomTreeNode* child : llvm::reverse(*node)) waiting.push_back(child);
  }
  return all;
}

}  // namespace

Result<std::vector<Loop>> loops(const ValueRef& ref) {
  MNEME_TRY(verify_function(ref));
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  std::vector<Loop> all;
  if (function->isDeclaration()) return all;
  llvm::DominatorTree tree(*function);
  llvm::LoopInfo info(tree);
  llvm::TargetLibraryInfoImpl library(function->getParent()->getTargetTriple());
  llvm::TargetLibraryInfo library_info(library);
  llvm::AssumptionCache assumptions(*function);
  llvm::ScalarEvolution evolution(*function, library_info, assumptions, tree, info);
  const auto in_order = info.getLoopsInPreorder();
  for (llvm::Loop* loop : in_order) {
    all.push_back(describe_loop(state_of(ref), *loop, evolution));
    if (llvm::Loop* parent = loop->getParentLoop()) all.back().parent = llvm::find(in_order, parent) - in_order.begin();
  }
  return all;
}

Result<std::vector<DominatorNode>> dominators(const ValueRef& ref, Direction direction) {
  MNEME_TRY(verify_function(ref));
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  if (function->isDeclaration()) return std::vector<DominatorNode>();
  if (direction == Direction::from_entry) {
    llvm::DominatorTree tree(*function);
    return nodes_of(state_of(ref), tree);
  }
  llvm::PostDominatorTree tree(*function);
  return nodes_of(state_of(ref), tree);
}

Result<std::vector<CallEdge>> call_graph(const ModuleRef& module) {
  MNEME_TRY(module.verify());
  std::vector<CallEdge> all;
  for (llvm::Function& function : module.state()->llvm()) {
    llvm::MapVector<llvm::Function*, uint64_t> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        ++calls[llvm::dyn_cast<llvm::Function>(call->getCalledOperand()->stripPointerCasts())];
    for (auto [callee, count] : calls)
      all.push_back({refer_value(module.state(), &function), refer_if(module.state(), callee), count});
  }
  return all;
}

Result<std::map<std::string, uint64_t>> opcode_counts(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  std::map<std::string, uint64_t> counts;
  for (const llvm::Instruction& instruction : llvm::instructions(*function)) ++counts[instruction.getOpcodeName()];
  return counts;
}

}  // namespace mneme::ir
