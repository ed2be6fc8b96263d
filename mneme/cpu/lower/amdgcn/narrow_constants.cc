#include "mneme/cpu/lower/amdgcn/narrow_constants.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <map>

#include "mneme/cpu/lower/amdgcn/narrow_types.h"

namespace mneme::cpu::amdgcn {
namespace {

using llvm::dyn_cast;
using llvm::isa;

bool is_left(const llvm::Constant& constant) {
  if (isa<llvm::GlobalValue, llvm::UndefValue>(constant)) return true;
  const auto* pointer = dyn_cast<llvm::PointerType>(constant.getType());
  return pointer && pointer->getAddressSpace() == kPrivateSpace && constant.isNullValue();
}

bool is_to_expand(const llvm::Constant& constant, unsigned depth = 0) {
  if (is_left(constant)) return false;
  if (holds_narrow(constant.getType())) return true;
  if (!isa<llvm::ConstantExpr, llvm::ConstantAggregate>(constant) || depth > 64) return false;
  for (const llvm::Use& use : constant.operands()) {
    if (is_narrow(use->getType())) return true;
    if (is_to_expand(*llvm::cast<llvm::Constant>(use), depth + 1)) return true;
  }
  return false;
}

class Expansion {
 public:
  explicit Expansion(llvm::function_ref<llvm::Value*()> lds_begin) : lds_begin_(lds_begin) {}

  llvm::Value* expand(llvm::Constant* constant, llvm::Instruction* before) {
    if (!is_to_expand(*constant)) return constant;
    llvm::IRBuilder<> builder(before);
    if (auto* expression = dyn_cast<llvm::ConstantExpr>(constant)) {
      llvm::Instruction* made = expression->getAsInstruction();
      for (llvm::Use& use : made->operands()) use.set(expand(llvm::cast<llvm::Constant>(use), before));
      return builder.Insert(made);
    }
    llvm::Type* type = constant->getType();
    if (type->isPointerTy()) return lds_begin_();  // a zero
    llvm::Value* whole = llvm::PoisonValue::get(type);
    for (unsigned i = 0; llvm::Constant* part = constant->getAggregateElement(i); ++i) {
      llvm::Value* value = expand(part, before);
      whole = type->isVectorTy() ? builder.CreateInsertElement(whole, value, i) : builder.CreateInsertValue(whole, value, i);
    }
    return whole;
  }

 private:
  llvm::function_ref<llvm::Value*()> lds_begin_;
};

void expand_in(llvm::PHINode& phi, Expansion& expansion) {
  // Edges from the same block have the same value.
  std::map<std::pair<llvm::BasicBlock*, llvm::Constant*>, llvm::Value*> made;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    auto* constant = dyn_cast<llvm::Constant>(phi.getIncomingValue(i));
    if (!constant || !is_to_expand(*constant)) continue;
    llvm::Value*& value = made[{phi.getIncomingBlock(i), constant}];
    if (!value) value = expansion.expand(constant, phi.getIncomingBlock(i)->getTerminator());
    phi.setIncomingValue(i, value);
  }
}

}  // namespace

void expand_constants(llvm::Function& function, llvm::function_ref<llvm::Value*()> lds_begin) {
  Expansion expansion(lds_begin);
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  for (llvm::Instruction* instruction : instructions) {
    if (auto* phi = dyn_cast<llvm::PHINode>(instruction)) {
      expand_in(*phi, expansion);
      continue;
    }
    for (llvm::Use& use : instruction->operands())
      if (auto* constant = dyn_cast<llvm::Constant>(use); constant && is_to_expand(*constant))
        use.set(expansion.expand(constant, instruction));
  }
}

}  // namespace mneme::cpu::amdgcn
