#include "mneme/ir/link.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Linker/Linker.h>

#include "mneme/ir/diagnostics.h"

namespace mneme::ir {
namespace {

// A device image is one object: comdats only get in the way of choosing a definition symbol by symbol.
void drop_comdats(llvm::Module& module) {
  for (llvm::GlobalObject& object : module.global_objects()) object.setComdat(nullptr);
}

bool defined_in(const llvm::Module& into, const llvm::GlobalValue& value) {
  if (value.hasLocalLinkage() || value.hasAppendingLinkage() || !value.hasName()) return false;
  const llvm::GlobalValue* same = into.getNamedValue(value.getName());
  return same && !same->isDeclaration() && !same->hasLocalLinkage() && !same->hasAvailableExternallyLinkage();
}

void make_declaration(llvm::GlobalObject& object) {
  if (auto* function = llvm::dyn_cast<llvm::Function>(&object)) {
    function->deleteBody();
    function->clearMetadata();
  } else {
    auto& variable = llvm::cast<llvm::GlobalVariable>(object);
    variable.setInitializer(nullptr);
    variable.clearMetadata();
  }
  object.setLinkage(llvm::GlobalValue::ExternalLinkage);
  object.setVisibility(llvm::GlobalValue::DefaultVisibility);
  object.setDSOLocal(false);
}

void drop_what_is_there(const llvm::Module& into, llvm::Module& from) {
  std::vector<llvm::GlobalAlias*> aliases;
  for (llvm::GlobalAlias& alias : from.aliases())
    if (defined_in(into, alias)) aliases.push_back(&alias);
  for (llvm::GlobalAlias* alias : aliases) {
    alias->replaceAllUsesWith(alias->getAliasee());
    alias->eraseFromParent();
  }
  for (llvm::GlobalObject& object : from.global_objects())
    if (!object.isDeclaration() && defined_in(into, object)) make_declaration(object);
}

// Flags of the same name with another value would be a conflict; a replay wants the first module's.
void keep_new_flags(const llvm::Module& into, llvm::Module& from) {
  llvm::NamedMDNode* flags = from.getModuleFlagsMetadata();
  if (!flags) return;
  std::vector<llvm::MDNode*> kept;
  for (llvm::MDNode* flag : flags->operands()) {
    auto* name = flag->getNumOperands() == 3 ? llvm::dyn_cast<llvm::MDString>(flag->getOperand(1)) : nullptr;
    if (name && !into.getModuleFlag(name->getString())) kept.push_back(flag);
  }
  flags->clearOperands();
  for (llvm::MDNode* flag : kept) flags->addOperand(flag);
}

}  // namespace

Status link_modules(llvm::Module& into, std::unique_ptr<llvm::Module> from) {
  const std::string name = from->getModuleIdentifier();
  if (into.getTargetTriple().getArch() != from->getTargetTriple().getArch()) {
    return error(Code::incompatible, "linking {} into {}: the one is for target {}, the other for {}", name,
                 into.getModuleIdentifier(), from->getTargetTriple().str(), into.getTargetTriple().str());
  }
  from->setTargetTriple(into.getTargetTriple());
  from->setDataLayout(into.getDataLayout());
  drop_comdats(into);
  drop_comdats(*from);
  drop_what_is_there(into, *from);
  keep_new_flags(into, *from);

  DiagnosticCollector diagnostics(into.getContext());
  if (llvm::Linker::linkModules(into, std::move(from)) || diagnostics.failed()) {
    return error(Code::incompatible, "linking {} into {}: {}", name, into.getModuleIdentifier(),
                 diagnostics.failed() ? diagnostics.errors() : "LLVM's linker refused");
  }
  return {};
}

}  // namespace mneme::ir
