#include "mneme/compile/prepare.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/Utils/GlobalStatus.h>
#include <llvm/Transforms/Utils/Local.h>

#include "mneme/compile/pipeline.h"

namespace mneme {
namespace {

using llvm::dyn_cast;
using llvm::isa;

bool is_reflect(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee && call.arg_size() == 1 && call.getType()->isIntegerTy() &&
         (callee->getName() == "__nvvm_reflect" || callee->getName() == "__nvvm_reflect_ocl" ||
          callee->getIntrinsicID() == llvm::Intrinsic::nvvm_reflect);
}

// The string that a call of __nvvm_reflect asks for; empty where it is not to be seen.
llvm::StringRef reflected_name(const llvm::CallBase& call) {
  const auto* variable = dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
  if (!variable || !variable->hasInitializer()) return {};
  const auto* data = dyn_cast<llvm::ConstantDataSequential>(variable->getInitializer());
  return data && data->isCString() ? data->getAsCString() : llvm::StringRef();
}

int64_t reflected_value(const llvm::Module& module, llvm::StringRef name, const std::string& architecture) {
  if (name == "__CUDA_ARCH") {
    unsigned version = 0;
    llvm::StringRef digits(architecture);
    if (digits.consume_front("sm_")) digits.consumeInteger(10, version);
    return version * 10;
  }
  if (name == "__CUDA_FTZ") {
    if (auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag("nvvm-reflect-ftz")))
      return flag->getSExtValue();
  }
  return 0;
}

// Puts `value` in place of `call` and folds what then is constant, so that code for other targets becomes unreachable.
void fold_reflect(llvm::CallBase& call, llvm::Constant* value) {
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  llvm::SmallVector<llvm::Instruction*, 8> work;
  const auto replace = [&](llvm::Instruction& instruction, llvm::Constant* with) {
    for (llvm::User* user : instruction.users())
      if (auto* next = dyn_cast<llvm::Instruction>(user)) work.push_back(next);
    instruction.replaceAllUsesWith(with);
    instruction.eraseFromParent();
  };
  replace(call, value);
  llvm::SmallPtrSet<llvm::Instruction*, 8> gone;
  while (!work.empty()) {
    llvm::Instruction* next = work.pop_back_val();
    if (gone.contains(next)) continue;
    if (next->isTerminator()) {
      llvm::ConstantFoldTerminator(next->getParent(), /*DeleteDeadConditions=*/false);
    } else if (llvm::Constant* folded = llvm::ConstantFoldInstruction(next, layout)) {
      gone.insert(next);
      replace(*next, folded);
    }
  }
}

void fold_reflects(llvm::Module& module, const std::string& architecture) {
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::WeakTrackingVH, 8> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = dyn_cast<llvm::CallBase>(&instruction); call && is_reflect(*call)) calls.push_back(call);
    for (llvm::WeakTrackingVH& handle : calls) {
      auto* call = llvm::cast<llvm::CallBase>(static_cast<llvm::Value*>(handle));
      fold_reflect(*call, llvm::ConstantInt::get(call->getType(), reflected_value(module, reflected_name(*call), architecture)));
    }
    if (!calls.empty()) llvm::removeUnreachableBlocks(function);
  }
}

void resolve_aliases(llvm::Module& module) {
  for (llvm::GlobalAlias& alias : llvm::make_early_inc_range(module.aliases())) {
    llvm::Constant* aliasee = alias.getAliasee();
    auto* object = dyn_cast<llvm::GlobalObject>(aliasee->stripPointerCasts());
    alias.replaceAllUsesWith(aliasee);
    // A kernel or global under another name must keep the name it is looked up by when its own is not visible.
    if (object && object->hasLocalLinkage() && !alias.hasLocalLinkage()) object->takeName(&alias);
    alias.eraseFromParent();
  }
}

void drop_used_lists(llvm::Module& module) {
  for (const char* name : {"llvm.used", "llvm.compiler.used"})
    if (llvm::GlobalVariable* list = module.getNamedGlobal(name)) list->eraseFromParent();
}

Status check_kernels(const llvm::Module& module, const std::vector<std::string>& kernels) {
  for (const std::string& name : kernels) {
    const llvm::Function* function = module.getFunction(name);
    if (function && !function->isDeclaration() && is_kernel(*function)) continue;
    std::string known;
    for (const llvm::Function& other : module)
      if (is_kernel(other) && !other.isDeclaration()) known += (known.empty() ? "" : ", ") + other.getName().str();
    return error(Code::not_found, "kernel '{}' is not in {}, which has {}", name, module.getModuleIdentifier(),
                 known.empty() ? "no kernel" : known);
  }
  return {};
}

// Whether a definition becomes internal. None is elsewhere: what another file would provide stands here alone.
bool becomes_internal(const llvm::GlobalValue& value, Linkage linkage) {
  return linkage == Linkage::internal || value.hasAvailableExternallyLinkage();
}

void set_linkages(llvm::Module& module, const std::vector<std::string>& kernels, Linkage linkage) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    function.setComdat(nullptr);
    if (function.isDeclaration()) continue;
    const bool kept = is_kernel(function) && (kernels.empty() || llvm::is_contained(kernels, function.getName()));
    if (is_kernel(function) && !kept && function.use_empty()) {
      function.eraseFromParent();
      continue;
    }
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    if (kept)
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    else if (is_kernel(function) || becomes_internal(function, linkage))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (function.hasFnAttribute(llvm::Attribute::OptimizeNone)) {
      function.removeFnAttr(llvm::Attribute::OptimizeNone);
      function.removeFnAttr(llvm::Attribute::NoInline);
    }
  }
}

// clang declares threadIdx and its like as variables of empty structures that nothing defines. Before optimisation their
// addresses are still taken, for members that look at nothing there: an empty constant serves.
void define_builtin_variables(llvm::Module& module) {
  for (const char* name : {"threadIdx", "blockIdx", "blockDim", "gridDim"}) {
    llvm::GlobalVariable* variable = module.getNamedGlobal(name);
    if (!variable || !variable->hasExternalWeakLinkage()) continue;
    variable->setInitializer(llvm::Constant::getNullValue(variable->getValueType()));
    variable->setLinkage(llvm::GlobalValue::InternalLinkage);
    variable->setConstant(true);
  }
}

// State becomes what no pass may conclude anything about.
void protect_state(llvm::Module& module, Linkage linkage) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    variable.setComdat(nullptr);
    if (!is_state(variable)) {
      if (!variable.isDeclaration() && !variable.hasLocalLinkage() && !variable.hasAppendingLinkage()) {
        variable.setVisibility(llvm::GlobalValue::DefaultVisibility);
        if (becomes_internal(variable, linkage)) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
      }
      continue;
    }
    variable.setConstant(false);
    variable.setExternallyInitialized(true);
    variable.setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::None);
    if (variable.isDeclaration()) continue;
    variable.setVisibility(llvm::GlobalValue::DefaultVisibility);
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

// Casts of `variable` to the generic space become the address as a generic pointer.
void bind_generic_casts(llvm::GlobalVariable& variable, llvm::Constant* generic) {
  for (llvm::User* user : llvm::make_early_inc_range(variable.users())) {
    if (llvm::Operator::getOpcode(user) != llvm::Instruction::AddrSpaceCast || user->getType() != generic->getType()) continue;
    user->replaceAllUsesWith(generic);
    if (auto* instruction = dyn_cast<llvm::Instruction>(user)) instruction->eraseFromParent();
  }
}

// Of PTX, which is the stricter of what names are given to.
bool is_identifier(llvm::StringRef name) {
  const auto allowed = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  return !name.empty() && !llvm::isDigit(name.front()) && llvm::all_of(name, allowed);
}

// As libdevice's tables are. Another file cannot reach it, and the host cannot either.
bool is_only_read(const llvm::GlobalVariable& variable) {
  if (!variable.hasLocalLinkage() || !variable.hasDefinitiveInitializer()) return false;
  llvm::GlobalStatus use;
  return !llvm::GlobalStatus::analyzeGlobal(&variable, use) && use.StoredType == llvm::GlobalStatus::NotStored;
}

}  // namespace

bool is_state(const llvm::GlobalVariable& variable) {
  const unsigned space = variable.getAddressSpace();
  if (space != 0 && space != 1 && space != 4) return false;
  if (variable.getName().starts_with("llvm.") || is_only_read(variable)) return false;
  return variable.isDeclaration() || variable.isExternallyInitialized() || !variable.isConstant();
}

Status prepare_module(llvm::Module& module, const std::vector<std::string>& kernels, const std::string& architecture,
                      Linkage linkage) {
  drop_used_lists(module);
  resolve_aliases(module);
  MNEME_TRY(check_kernels(module, kernels));
  set_linkages(module, kernels, linkage);
  define_builtin_variables(module);
  protect_state(module, linkage);
  fold_reflects(module, architecture);
  return {};
}

Status drop_unreached(llvm::Module& module, llvm::TargetMachine& machine) {
  const auto may_go = [](llvm::GlobalObject& object) {
    if (auto* function = dyn_cast<llvm::Function>(&object)) return !is_kernel(*function);
    return !is_state(llvm::cast<llvm::GlobalVariable>(object));
  };
  for (llvm::GlobalObject& object : module.global_objects()) {
    if (object.isDeclaration() || object.isDiscardableIfUnused() || object.hasAppendingLinkage() || !may_go(object)) continue;
    object.setLinkage(object.isInterposable() ? llvm::GlobalValue::LinkOnceAnyLinkage : llvm::GlobalValue::LinkOnceODRLinkage);
  }
  return run_pipeline(module, machine, "globaldce");
}

Status bind_globals(llvm::Module& module, const std::vector<GlobalBinding>& bindings) {
  for (const GlobalBinding& binding : bindings) {
    llvm::GlobalValue* value = module.getNamedValue(binding.name);
    if (!value) continue;
    auto* variable = dyn_cast<llvm::GlobalVariable>(value);
    if (!variable || !is_state(*variable)) {
      return error(Code::invalid_argument, "binding '{}' to address {}: {}", binding.name, binding.address,
                   variable ? "it is no variable of the application's state" : "it is a function");
    }
    auto* number = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), binding.address.address);
    bind_generic_casts(*variable, llvm::ConstantExpr::getIntToPtr(number, llvm::PointerType::get(module.getContext(), 0)));
    variable->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(number, variable->getType()));
    variable->eraseFromParent();
  }
  return {};
}

std::vector<std::string> expose_state(llvm::Module& module, AllowedNames allowed) {
  std::vector<std::string> names;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!is_state(variable) || variable.isDeclaration()) continue;
    const bool may_rename = variable.hasLocalLinkage() || allowed == AllowedNames::identifiers;
    if (may_rename && !is_identifier(variable.getName())) variable.setName("mneme_state_" + llvm::Twine(names.size()));
    if (variable.hasLocalLinkage()) variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    names.push_back(variable.getName().str());
  }
  return names;
}

}  // namespace mneme
