#include "mneme/instrument/closure.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "mneme/instrument/names.h"
#include "mneme/instrument/state_globals.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

class Collector {
 public:
  explicit Collector(Closure& closure) : members_(closure.members) { members_.insert(closure.root); }

  Error run() {
    for (size_t i = 0; i < members_.size(); ++i) {  // grows while it is walked
      if (Error error = visit(*members_[i])) return error;
    }
    return Error::success();
  }

 private:
  Error visit(GlobalValue& value) {
    if (isa<GlobalIFunc>(value)) {
      return createStringError("it reaches the ifunc '" + value.getName() + "', which is resolved by code of the host");
    }
    if (value.isThreadLocal()) return createStringError("it reaches the thread-local variable '" + value.getName() + "'");
    if (value.isDeclaration() && !value.getName().starts_with("llvm.") && !value.getParent()->getModuleInlineAsm().empty()) {
      auto* function = dyn_cast<Function>(&value);
      if (function && !is_provided_by_system(value.getName())) {
        return createStringError("it calls '" + value.getName() + "', which this file's module-level assembly may define");
      }
    }
    if (auto* function = dyn_cast<Function>(&value)) {
      for (Instruction& instruction : instructions(*function)) reach_operands(instruction);
    }
    reach_operands(value);  // initialiser, aliasee, personality and prefix data
    return Error::success();
  }

  void reach_operands(User& user) {
    for (Value* operand : user.operands()) {
      if (auto* constant = dyn_cast<Constant>(operand)) reach(*constant);
    }
  }

  void reach(Constant& constant) {
    if (auto* value = dyn_cast<GlobalValue>(&constant)) {
      members_.insert(value);
    } else if (constant.getNumOperands() && seen_.insert(&constant).second) {
      reach_operands(constant);
    }
  }

  SetVector<GlobalValue*>& members_;
  SmallPtrSet<Constant*, 32> seen_;
};

// Metadata may name globals outside of the closure (debug information of template arguments); they become null.
class NullOutside : public ValueMaterializer {
 public:
  Value* materialize(Value* value) override {
    auto* global = dyn_cast<GlobalValue>(value);
    return global ? ConstantPointerNull::get(global->getType()) : nullptr;
  }
};

class Extractor {
 public:
  Extractor(const Closure& closure, StringRef tag) : closure_(closure), tag_(tag), from_(*closure.root->getParent()) {}

  Expected<ExtractedModule> run() {
    create_module();
    for (GlobalValue* member : closure_.members) create(*member);
    prepare_compile_units();
    for (GlobalValue* member : closure_.members) {
      if (auto* function = dyn_cast<Function>(member); function && !function->isDeclaration()) clone_body(*function);
    }
    for (GlobalValue* member : closure_.members) clone_value(*member);
    copy_named_metadata();
    // Cloning a function makes the list of compile units, also where there are none.
    if (NamedMDNode* units = result_.module->getNamedMetadata("llvm.dbg.cu"); units && units->getNumOperands() == 0) {
      units->eraseFromParent();
    }
    std::string message;
    raw_string_ostream stream(message);
    if (verifyModule(*result_.module, &stream)) {
      return createStringError("a module of it alone is not valid (" + StringRef(message).rtrim().split('\n').first + ")");
    }
    return std::move(result_);
  }

 private:
  void create_module() {
    // The name of the file stays out of it: the same template kernel in two files is the same module.
    result_.module = std::make_unique<Module>(canonical_name(closure_.root->getName()), from_.getContext());
    result_.module->setSourceFileName("");
    result_.module->setDataLayout(from_.getDataLayout());
    result_.module->setTargetTriple(from_.getTargetTriple());
  }

  // An intrinsic's clone, and all else but its body, initialiser or aliasee.
  void create(GlobalValue& value) {
    Module& to = *result_.module;
    GlobalValue::LinkageTypes linkage = linkage_of(value);
    GlobalValue* clone = nullptr;
    if (auto* function = dyn_cast<Function>(&value)) {
      Function* created =
          Function::Create(function->getFunctionType(), linkage, function->getAddressSpace(), value.getName(), &to);
      created->copyAttributesFrom(function);
      created->setPersonalityFn(nullptr);
      created->setPrefixData(nullptr);
      created->setPrologueData(nullptr);
      clone = created;
    } else if (auto* variable = dyn_cast<GlobalVariable>(&value)) {
      clone = create_variable(*variable, linkage);
    } else {
      auto* alias = GlobalAlias::create(value.getValueType(), value.getAddressSpace(), linkage, value.getName(), &to);
      alias->copyAttributesFrom(cast<GlobalAlias>(&value));
      clone = alias;
    }
    if (clone->hasLocalLinkage()) clone->setVisibility(GlobalValue::DefaultVisibility);
    map_[&value] = clone;
    result_.clones[&value] = clone;
    if (&value == closure_.root) {
      if (isa<Function>(value)) clone->setName(canonical_name(value.getName()));
      result_.root = clone;
    }
  }

  GlobalVariable* create_variable(const GlobalVariable& variable, GlobalValue::LinkageTypes linkage) {
    bool state = is_state(variable);
    std::string name = variable.getName().str();
    if (StringRef canonical = canonical_name(name); state && canonical != name) name = (canonical + tag_).str();
    auto* clone = new GlobalVariable(*result_.module, variable.getValueType(), variable.isConstant(), linkage, nullptr, name,
                                     nullptr, variable.getThreadLocalMode(), variable.getAddressSpace());
    clone->copyAttributesFrom(&variable);
    // Its value on replay is what was recorded, so nothing may be concluded from the initialiser.
    clone->setExternallyInitialized(state && (variable.isExternallyInitialized() || !variable.isDeclaration()));
    return clone;
  }

  GlobalValue::LinkageTypes linkage_of(const GlobalValue& value) const {
    if (value.isDeclaration())
      return value.hasExternalWeakLinkage() ? GlobalValue::ExternalWeakLinkage : GlobalValue::ExternalLinkage;
    auto* variable = dyn_cast<GlobalVariable>(&value);
    if (variable && is_state(*variable)) return GlobalValue::WeakODRLinkage;
    if (&value == closure_.root && (is_kernel(value) || value.hasLocalLinkage())) return GlobalValue::ExternalLinkage;
    if (value.hasAvailableExternallyLinkage()) return GlobalValue::LinkOnceODRLinkage;  // no other file provides it here
    return value.getLinkage();  // by which passes go: what only one file can define they know better than what is linkonce
  }

  // A unit without the lists of everything in the file: what the closure does not reach would come along by them.
  void prepare_compile_units() {
    NamedMDNode* units = from_.getNamedMetadata("llvm.dbg.cu");
    for (unsigned i = 0; units && i < units->getNumOperands(); ++i) {
      auto* unit = cast<DICompileUnit>(units->getOperand(i));
      map_.MD()[unit].reset(DICompileUnit::getDistinct(
          unit->getContext(), unit->getSourceLanguage(), unit->getFile(), unit->getProducer(), unit->isOptimized(), "",
          unit->getRuntimeVersion(), "", unit->getEmissionKind(), nullptr, nullptr, nullptr, nullptr, nullptr, 0,
          unit->getSplitDebugInlining(), unit->getDebugInfoForProfiling(), unit->getNameTableKind(), unit->getRangesBaseAddress(),
          unit->getSysRoot(), unit->getSDK()));
    }
  }

  void clone_body(Function& function) {
    auto* clone = cast<Function>(map_[&function]);
    for (auto [from, to] : zip(function.args(), clone->args())) {
      to.setName(from.getName());
      map_[&from] = &to;
    }
    SmallVector<ReturnInst*, 8> returns;
    CloneFunctionInto(clone, &function, map_, CloneFunctionChangeType::DifferentModule, returns, "", nullptr, nullptr, &outside_);
    if (clone->hasFnAttribute(Attribute::OptimizeNone)) {
      clone->removeFnAttr(Attribute::OptimizeNone);
      clone->removeFnAttr(Attribute::NoInline);
    }
  }

  void clone_value(GlobalValue& value) {
    GlobalValue* clone = result_.clones[&value];
    if (auto* variable = dyn_cast<GlobalVariable>(&value); variable && variable->hasInitializer()) {
      auto* to = cast<GlobalVariable>(clone);
      to->setInitializer(cast<Constant>(mapped(*variable->getInitializer())));
      clone_debug_info(*variable, *to);
    } else if (auto* alias = dyn_cast<GlobalAlias>(&value)) {
      cast<GlobalAlias>(clone)->setAliasee(cast<Constant>(mapped(*alias->getAliasee())));
    }
  }

  void clone_debug_info(const GlobalVariable& from, GlobalVariable& to) {
    SmallVector<DIGlobalVariableExpression*, 1> expressions;
    from.getDebugInfo(expressions);
    NamedMDNode* units = result_.module->getNamedMetadata("llvm.dbg.cu");
    if (expressions.empty() || !units || units->getNumOperands() == 0) return;
    auto* unit = cast<DICompileUnit>(units->getOperand(0));
    SmallVector<Metadata*, 8> listed(unit->getGlobalVariables().begin(), unit->getGlobalVariables().end());
    for (DIGlobalVariableExpression* expression : expressions) {
      auto* copy = cast<DIGlobalVariableExpression>(mapped_metadata(*expression));
      to.addDebugInfo(copy);
      listed.push_back(copy);
    }
    unit->replaceGlobalVariables(MDTuple::get(unit->getContext(), listed));
  }

  void copy_named_metadata() {
    for (const NamedMDNode& named : from_.named_metadata()) {
      StringRef name = named.getName();
      if (name == "nvvm.annotations") {
        copy_annotations(named);
      } else if (name == "llvm.module.flags" || name == "nvvmir.version" || name.starts_with("opencl.") ||
                 name.starts_with("amdgpu")) {
        NamedMDNode* to = result_.module->getOrInsertNamedMetadata(name);
        for (const MDNode* node : named.operands()) to->addOperand(mapped_metadata(*node));
      }
    }
  }

  void copy_annotations(const NamedMDNode& annotations) {
    for (const MDNode* node : annotations.operands()) {
      auto* subject = node->getNumOperands() ? dyn_cast_or_null<ConstantAsMetadata>(node->getOperand(0).get()) : nullptr;
      auto* value = subject ? dyn_cast<GlobalValue>(subject->getValue()) : nullptr;
      if (!value || !closure_.members.contains(const_cast<GlobalValue*>(value))) continue;
      result_.module->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(mapped_metadata(*node));
    }
  }

  Value* mapped(Value& value) { return MapValue(&value, map_, RF_None, nullptr, &outside_); }
  MDNode* mapped_metadata(const MDNode& node) { return MapMetadata(&node, map_, RF_None, nullptr, &outside_); }

  const Closure& closure_;
  StringRef tag_;
  Module& from_;
  ExtractedModule result_;
  ValueToValueMapTy map_;
  NullOutside outside_;
};

// Dynamic shared memory is declared as a variable too, and is none of another file's.
bool is_needed(const GlobalValue& declaration) {
  if (auto* variable = dyn_cast<GlobalVariable>(&declaration)) return is_state(*variable);
  return !is_provided_by_system(declaration.getName());
}

}  // namespace

bool is_kernel(const GlobalValue& value) {
  auto* function = dyn_cast<Function>(&value);
  if (!function) return false;
  CallingConv::ID convention = function->getCallingConv();
  return convention == CallingConv::PTX_Kernel || convention == CallingConv::AMDGPU_KERNEL;
}

Expected<Closure> collect_closure(GlobalValue& root) {
  Closure closure;
  closure.root = &root;
  if (Error error = Collector(closure).run()) return std::move(error);
  for (const GlobalValue* member : closure.members) {
    if (member->isDeclaration() && is_needed(*member)) closure.needs.push_back(member->getName().str());
  }
  return closure;
}

Expected<ExtractedModule> extract(const Closure& closure, StringRef tag) { return Extractor(closure, tag).run(); }

}  // namespace mneme::instrument
