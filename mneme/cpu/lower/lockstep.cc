#include "mneme/cpu/lower/lockstep.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include <set>
#include <vector>

#include "mneme/compile/prepare.h"
#include "mneme/cpu/lower/device_functions.h"
#include "mneme/cpu/lower/dialect.h"

namespace mneme::cpu {
namespace {

constexpr char kMark[] = "mneme.lockstep";
constexpr unsigned kGenericSpace = 0, kSharedSpace = 3;

bool is_shared(const llvm::Value& pointer) {
  return llvm::getUnderlyingObject(&pointer)->getType()->getPointerAddressSpace() == kSharedSpace ||
         pointer.getType()->getPointerAddressSpace() == kSharedSpace;
}

bool may_be_shared(const llvm::Value& pointer) {
  if (is_shared(pointer)) return true;
  const llvm::Value* object = llvm::getUnderlyingObject(&pointer);
  const unsigned space = object->getType()->getPointerAddressSpace();
  if (space != kGenericSpace || llvm::isa<llvm::AllocaInst>(object)) return false;
  // The host cannot name shared memory.
  const auto* argument = llvm::dyn_cast<llvm::Argument>(object);
  return !argument || !is_kernel(*argument->getParent());
}

bool is_plain_access(const llvm::Instruction& instruction) {
  return llvm::getLoadStorePointerOperand(&instruction) && !instruction.isAtomic();
}

// The functions of kernels that have no barrier.
std::set<const llvm::Function*> without_barrier(llvm::Module& module, const Dialect& dialect) {
  std::set<const llvm::Function*> found;
  if (!dialect.is_barrier) return found;
  for (llvm::Function& kernel : module) {
    if (!is_kernel(kernel) || kernel.isDeclaration()) continue;
    const std::vector<llvm::Function*> functions = reachable_functions(kernel);
    const bool has_barrier = llvm::any_of(
        functions, [&](llvm::Function* function) { return llvm::any_of(llvm::instructions(*function), dialect.is_barrier); });
    if (!has_barrier) found.insert(functions.begin(), functions.end());
  }
  return found;
}

}  // namespace

void mark_lockstep(llvm::Module& module, const Dialect& dialect) {
  llvm::MDNode* mark = llvm::MDNode::get(module.getContext(), {});
  const std::set<const llvm::Function*> in_step = without_barrier(module, dialect);
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!is_plain_access(instruction)) continue;
      const llvm::Value& pointer = *llvm::getLoadStorePointerOperand(&instruction);
      // Not every generic pointer for a plain access: that would slow down kernels that have no shared memory.
      if (instruction.isVolatile() ? may_be_shared(pointer) : in_step.contains(&function) && is_shared(pointer))
        instruction.setMetadata(kMark, mark);
    }
  }
}

bool keeps_step(const llvm::Instruction& instruction) { return instruction.hasMetadata(kMark); }

}  // namespace mneme::cpu
