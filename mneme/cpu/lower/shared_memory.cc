#include "mneme/cpu/lower/shared_memory.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/Alignment.h>

#include <set>

#include "mneme/cpu/lower/device_functions.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::cpu {
namespace {

constexpr unsigned kSharedSpace = 3;
constexpr uint64_t kDynamicAlignment = 16;

uint64_t size_of(const llvm::GlobalVariable& variable) {
  return variable.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
}

bool is_dynamic(const llvm::GlobalVariable& variable) { return size_of(variable) == 0; }

llvm::Align alignment_of(const llvm::GlobalVariable& variable) {
  return variable.getAlign().value_or(variable.getDataLayout().getPreferredAlign(&variable));
}

// Shared variables become instructions' operands only, so that each use stands in one function.
std::vector<llvm::GlobalVariable*> shared_variables(llvm::Module& module) {
  std::vector<llvm::Constant*> constants;
  std::vector<llvm::GlobalVariable*> variables;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() != kSharedSpace) continue;
    variables.push_back(&variable);
    constants.push_back(&variable);
  }
  llvm::convertUsersOfConstantsToInstructions(constants);
  return variables;
}

std::set<llvm::Function*> users_of(const llvm::GlobalVariable& variable) {
  std::set<llvm::Function*> functions;
  for (const llvm::User* user : variable.users())
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(user))
      functions.insert(const_cast<llvm::Function*>(instruction->getFunction()));
  return functions;
}

}  // namespace

SharedLayout lay_out_shared_memory(llvm::Module& module, const std::vector<llvm::Function*>& kernels) {
  SharedLayout layout;
  std::vector<llvm::GlobalVariable*> variables = shared_variables(module);
  llvm::DenseMap<llvm::GlobalVariable*, std::vector<llvm::Function*>> kernels_of;
  for (llvm::Function* kernel : kernels) {
    layout.static_bytes[kernel] = 0;
    layout.alignments[kernel] = kDynamicAlignment;
    std::vector<llvm::Function*> reached = reachable_functions(*kernel);
    std::set<llvm::Function*> reachable(reached.begin(), reached.end());
    for (llvm::GlobalVariable* variable : variables)
      for (llvm::Function* user : users_of(*variable))
        if (reachable.contains(user)) {
          kernels_of[variable].push_back(kernel);
          layout.alignments[kernel] = std::max(layout.alignments[kernel], alignment_of(*variable).value());
          break;
        }
  }
  for (llvm::GlobalVariable* variable : variables) {
    if (is_dynamic(*variable)) continue;
    uint64_t offset = 0;
    for (llvm::Function* kernel : kernels_of[variable]) offset = std::max(offset, layout.static_bytes[kernel]);
    offset = llvm::alignTo(offset, alignment_of(*variable));
    layout.offsets[variable] = offset;
    for (llvm::Function* kernel : kernels_of[variable]) layout.static_bytes[kernel] = offset + size_of(*variable);
  }
  // Kernels that reach the same dynamic variable must agree on where it begins.
  for (llvm::GlobalVariable* variable : variables) {
    if (!is_dynamic(*variable)) continue;
    uint64_t offset = 0;
    for (llvm::Function* kernel : kernels_of[variable]) offset = std::max(offset, layout.static_bytes[kernel]);
    offset = llvm::alignTo(offset, std::max(llvm::Align(kDynamicAlignment), alignment_of(*variable)));
    layout.offsets[variable] = offset;
    for (llvm::Function* kernel : kernels_of[variable]) layout.static_bytes[kernel] = offset;
  }
  return layout;
}

void wrap_shared_indices(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!element || element->getType()->isVectorTy()) continue;
      if (llvm::getUnderlyingObject(element)->getType()->getPointerAddressSpace() != kSharedSpace) continue;
      for (llvm::Use& index : element->indices()) {
        auto* widened = llvm::dyn_cast<llvm::ZExtInst>(index);
        if (!widened || widened->hasNonNeg() || !widened->getOperand(0)->getType()->isIntegerTy(32)) continue;
        llvm::IRBuilder<> builder(element);
        index.set(builder.CreateSExt(widened->getOperand(0), widened->getType()));
        element->setNoWrapFlags(llvm::GEPNoWrapFlags::none());
      }
    }
  }
}

void lower_shared_memory(llvm::Module& module, const SharedLayout& layout) {
  shared_variables(module);  // what was done since may have made constants of them again
  for (const auto& [variable, offset] : layout.offsets) {
    std::vector<llvm::Instruction*> users;
    for (llvm::User* user : variable->users()) users.push_back(llvm::cast<llvm::Instruction>(user));
    llvm::DenseMap<llvm::Function*, llvm::Value*> addresses;
    for (llvm::Instruction* user : users) {
      llvm::Function* function = user->getFunction();
      llvm::Value*& address = addresses[function];
      if (!address) {
        llvm::IRBuilder<> builder(&*function->getEntryBlock().getFirstInsertionPt());
        ptx::ThreadState state(builder, function->getArg(function->arg_size() - 1));
        llvm::Value* generic =
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), state.shared_base(), offset, variable->getName());
        address = builder.CreateAddrSpaceCast(generic, variable->getType());
      }
      user->replaceUsesOfWith(variable, address);
    }
    variable->eraseFromParent();
  }
}

}  // namespace mneme::cpu
