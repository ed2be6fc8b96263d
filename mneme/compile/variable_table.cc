#include "mneme/compile/variable_table.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ReplaceConstant.h>

#include <map>

#include "mneme/abi/deployed_code.h"
#include "mneme/compile/prepare.h"
#include "mneme/ir/gpu_memory.h"

namespace mneme {
namespace {

using ir::kConstantSpace, ir::kGenericSpace, ir::kGlobalSpace;
using llvm::dyn_cast;

// The variable in whose initial value a constant stands, directly or in others; null where there is none.
const llvm::GlobalVariable* holder_of(const llvm::Constant& constant) {
  for (const llvm::User* user : constant.users()) {
    const auto* outer = dyn_cast<llvm::Constant>(user);
    if (!outer) continue;
    const auto* variable = dyn_cast<llvm::GlobalVariable>(outer);
    const llvm::GlobalVariable* holder = variable ? variable : holder_of(*outer);
    if (holder && !is_state(*holder)) return holder;
  }
  return nullptr;
}

class TableUse {
 public:
  TableUse(llvm::GlobalVariable& table, unsigned index) : table_(table), index_(index) {}

  Status replace_in_functions(llvm::GlobalVariable& variable) {
    for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
      auto* instruction = dyn_cast<llvm::Instruction>(use.getUser());
      if (!instruction) continue;
      if (variable.getAddressSpace() != kConstantSpace || ir::constants_are_global(*variable.getParent())) {
        use.set(address(*instruction->getFunction(), variable.getAddressSpace()));
        continue;
      }
      // A variable of NVIDIA's constant bank has an address in global memory too.
      const auto* cast = dyn_cast<llvm::AddrSpaceCastInst>(instruction);
      if (!cast || cast->getDestAddressSpace() != kGenericSpace)
        return error(Code::unsupported, "the variable '{}' is accessed through the constant bank alone",
                     variable.getName().str());
      instruction->replaceAllUsesWith(address(*instruction->getFunction(), kGenericSpace));
      instruction->eraseFromParent();
    }
    return {};
  }

 private:
  // The address, loaded at the function's begin, as a pointer to global memory. Those of other spaces are the same number.
  llvm::Value* address(llvm::Function& function, unsigned space) {
    llvm::Value*& known = addresses_[{&function, space}];
    if (known) return known;
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    llvm::Value* place = builder.CreateConstInBoundsGEP2_32(table_.getValueType(), &table_, 0, index_);
    llvm::LoadInst* loaded = builder.CreateLoad(llvm::PointerType::get(function.getContext(), kGlobalSpace), place);
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(function.getContext(), {}));
    if (space == kGlobalSpace) return known = loaded;
    return known = builder.CreateAddrSpaceCast(loaded, llvm::PointerType::get(function.getContext(), space));
  }

  llvm::GlobalVariable& table_;
  unsigned index_;
  std::map<std::pair<llvm::Function*, unsigned>, llvm::Value*> addresses_;
};

}  // namespace

Status reach_by_table(llvm::Module& module, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  auto* pointer = llvm::PointerType::get(module.getContext(), kGenericSpace);
  std::vector<llvm::GlobalVariable*> variables;
  std::vector<llvm::Constant*> first;
  for (const std::string& name : names) {
    llvm::GlobalVariable* variable = module.getNamedGlobal(name);
    if (variable && !is_state(*variable)) variable = nullptr;
    variables.push_back(variable);
    if (!variable) {
      first.push_back(llvm::ConstantPointerNull::get(pointer));
      continue;
    }
    llvm::convertUsersOfConstantsToInstructions({variable});
    if (const llvm::GlobalVariable* holder = holder_of(*variable))
      return error(Code::unsupported, "the address of the variable '{}' stands in the constant '{}'", name,
                   holder->getName().str());
    first.push_back(llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(variable, pointer));
  }
  auto* type = llvm::ArrayType::get(pointer, names.size());
  auto* table = new llvm::GlobalVariable(module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantArray::get(type, first), MNEME_VARIABLE_TABLE, nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kConstantSpace, /*isExternallyInitialized=*/true);
  for (unsigned i = 0; i < variables.size(); ++i)
    if (variables[i]) MNEME_TRY(TableUse(*table, i).replace_in_functions(*variables[i]));
  return {};
}

}  // namespace mneme
