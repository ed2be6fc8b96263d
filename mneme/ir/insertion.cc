#include "mneme/ir/insertion.h"

#include <llvm/IR/DebugInfoMetadata.h>

namespace mneme::ir {

Result<Insertion> Insertion::at(const ValueRef& place, std::string kind, const std::string& name) {
  MNEME_ASSIGN(llvm::Value * value, edit(place));
  Insertion insertion;
  insertion.state_ = state_of(place);
  insertion.kind_ = std::move(kind);
  insertion.name_ = name;
  insertion.before_ = llvm::dyn_cast<llvm::Instruction>(value);
  insertion.block_ = insertion.before_ ? insertion.before_->getParent() : llvm::dyn_cast<llvm::BasicBlock>(value);
  if (!insertion.block_) return wrong_kind(*value, "a basic block or an instruction");
  if (name.find('\0') != std::string::npos) return insertion.refused("a name has no NUL");
  return insertion;
}

Status Insertion::refused_because(const std::string& why) const {
  return error(Code::invalid_argument, "building {} in {}: {}", kind_, describe(*block_), why);
}

Result<llvm::Value*> Insertion::operand(const ValueRef& ref) const {
  MNEME_ASSIGN(llvm::Value * value, get_of(state_, ref));
  const llvm::Type& type = *value->getType();
  if (type.isVoidTy()) return refused("{} has no result", describe(*value));
  if (type.isLabelTy() || type.isMetadataTy() || type.isTokenTy())
    return refused("{} is of type {}, and no operand", describe(*value), printed(type));
  if (Status local = check_operand(&function(), *value); !local.ok()) return refused("{}", local.message());
  return value;
}

Result<std::vector<llvm::Value*>> Insertion::operands(const std::vector<ValueRef>& refs) const {
  std::vector<llvm::Value*> all;
  for (const ValueRef& ref : refs) {
    MNEME_ASSIGN(llvm::Value * value, operand(ref));
    all.push_back(value);
  }
  return all;
}

Result<llvm::BasicBlock*> Insertion::block(const ValueRef& ref) const {
  MNEME_TRY(get_of(state_, ref).status());
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(ref));
  if (Status local = check_operand(&function(), *block); !local.ok()) return refused("{}", local.message());
  return block;
}

Result<ValueRef> Insertion::put(llvm::Instruction* made) const {
  llvm::BasicBlock::iterator where = before_ ? before_->getIterator() : block_->end();
  const auto drop = [&](const Status& why) {
    made->deleteValue();
    return why;
  };
  if (llvm::isa<llvm::PHINode>(made)) {
    where = block_->getFirstNonPHIIt();
  } else if (before_) {
    if (made->isTerminator())
      return drop(refused("it ends its block, and {} follows; split the block there", describe(*before_)));
    if (llvm::isa<llvm::PHINode>(before_))
      return drop(refused("{} follows, and only phis stand before a phi", describe(*before_)));
  } else if (block_->getTerminator()) {
    return drop(refused("the block ends in {} already", describe(*block_->getTerminator())));
  }
  llvm::DebugLoc line = before_ ? before_->getDebugLoc() : !block_->empty() ? block_->back().getDebugLoc() : llvm::DebugLoc();
  if (llvm::DISubprogram* subprogram = function().getSubprogram(); subprogram && !line)
    line = llvm::DILocation::get(context(), 0, 0, subprogram);
  made->insertInto(block_, where);
  made->setDebugLoc(line);
  if (!made->getType()->isVoidTy()) made->setName(name_);
  return refer(state_, static_cast<llvm::Value*>(made));
}

}  // namespace mneme::ir
