// Where a builder puts what it makes, and what it may make it of. For the room itself. Not installed.
#pragma once

#include <llvm/IR/Instructions.h>

#include "mneme/ir/handle_access.h"

namespace mneme::ir {

class Insertion {
 public:
  // `kind`: what is to be made, for messages.
  static Result<Insertion> at(const ValueRef& place, std::string kind, const std::string& name = "");

  Result<llvm::Value*> operand(const ValueRef& ref) const;
  Result<std::vector<llvm::Value*>> operands(const std::vector<ValueRef>& refs) const;
  Result<llvm::BasicBlock*> block(const ValueRef& ref) const;  // of this function, to branch to
  Result<llvm::Type*> type(const TypeRef& ref) const { return get_of(state_, ref); }

  template <typename... Args>
  Status refused(fmt::format_string<Args...> format, Args&&... args) const {
    return refused_because(fmt::format(format, std::forward<Args>(args)...));
  }
  // Puts it there, and gives it its name and its source line. Takes it over also where it refuses.
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
