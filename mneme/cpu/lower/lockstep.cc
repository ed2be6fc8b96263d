#include "mneme/cpu/lower/lockstep.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include "mneme/compile/prepare.h"

namespace mneme::cpu {
namespace {

constexpr char kMark[] = "mneme.lockstep";
constexpr unsigned kGenericSpace = 0, kSharedSpace = 3;

bool may_be_shared(const llvm::Value& pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(&pointer);
  const unsigned space = object->getType()->getPointerAddressSpace();
  if (space == kSharedSpace || pointer.getType()->getPointerAddressSpace() == kSharedSpace) return true;
  if (space != kGenericSpace || llvm::isa<llvm::AllocaInst>(object)) return false;
  // The host cannot name shared memory.
  const auto* argument = llvm::dyn_cast<llvm::Argument>(object);
  return !argument || !is_kernel(*argument->getParent());
}

}  // namespace

void mark_lockstep(llvm::Module& module) {
  llvm::MDNode* mark = llvm::MDNode::get(module.getContext(), {});
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      if (pointer && instruction.isVolatile() && !instruction.isAtomic() && may_be_shared(*pointer))
        instruction.setMetadata(kMark, mark);
    }
  }
}

bool keeps_step(const llvm::Instruction& instruction) { return instruction.hasMetadata(kMark); }

}  // namespace mneme::cpu
