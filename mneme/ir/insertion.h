// Insertion: the place where a Builder puts an instruction, and the checks of its operands. For this room only. Not installed.
#pragma once

#include <llvm/IR/Instructions.h>

#include "mneme/ir/handle_access.h"

namespace mneme::ir {

class Insertion {
 public:
  // `place` is a block, for its end, or the instruction to stand before. `kind` is what is to be made, for messages.
  static Result<Insertion> at(const ValueRef& place, std::string kind, const std::string& name = "");

  Result<llvm::Value*> operand(const ValueRef& ref) const;
  Result<std::vector<llvm::Value*>> operands(const std::vector<ValueRef>& refs) const;
  Result<llvm::BasicBlock*> block(const ValueRef& ref) const;  // a block to branch to, which must be of this function
  Result<llvm::Type*> type(const TypeRef& ref) const { return get_of(state_, ref); }

  template <typename... Args>
  Status refused(fmt::format_string<Args...> format, Args&&... args) const {
    return refused_because(fmt::format(format, std::forward<Args>(args)...));
  }
  // Puts the instruction at the place, and gives it its name and its source line. Takes ownership of it, and deletes it where it
  // refuses.
  Result<ValueRef> put(llvm::Instruction* made) const;

  llvm::Module& module() const { return state_->llvm(); }
  llvm::LLVMContext& context() const { return state_->context(); }
  llvm::Function& function() const { return *block_->getParent(); }

 private:
  Status refused_because(const std::string& why) const;

  std::shared_ptr<ModuleState> state_;
  std::string kind_;
  std::string name_;
  llvm::BasicBlock* block_ = nullptr;
  llvm::Instruction* before_ = nullptr;
};

}  // namespace mneme::ir
