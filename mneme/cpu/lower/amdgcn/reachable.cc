#include "mneme/cpu/lower/amdgcn/reachable.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>

#include <vector>

#include "mneme/compile/prepare.h"

namespace mneme::cpu::amdgcn {

void drop_unreachable(llvm::Module& module) {
  llvm::SmallPtrSet<const llvm::Value*, 32> seen;
  std::vector<const llvm::Value*> work;
  const auto reach = [&](const llvm::Value* value) {
    if (llvm::isa<llvm::Constant>(value) && seen.insert(value).second) work.push_back(value);
  };
  for (const llvm::Function& function : module)
    if (is_kernel(function)) reach(&function);
  for (const llvm::GlobalVariable& variable : module.globals()) reach(&variable);
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    for (const llvm::Use& use : llvm::cast<llvm::User>(value)->operands()) reach(use);
    if (const auto* function = llvm::dyn_cast<llvm::Function>(value))
      for (const llvm::Instruction& instruction : llvm::instructions(*function))
        for (const llvm::Use& use : instruction.operands()) reach(use);
  }
  std::vector<llvm::Function*> dead;
  for (llvm::Function& function : module)
    if (!seen.contains(&function)) dead.push_back(&function);
  for (llvm::Function* function : dead) function->deleteBody();
  for (llvm::Function* function : dead)
    if (function->use_empty()) function->eraseFromParent();
}

}  // namespace mneme::cpu::amdgcn
