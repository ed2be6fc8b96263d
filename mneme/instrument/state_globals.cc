#include "mneme/instrument/state_globals.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "mneme/abi/segment.h"
#include "mneme/instrument/names.h"
#include "mneme/instrument/pointer_uses.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

// The same numbers on NVPTX and AMDGCN.
enum AddressSpace : unsigned { kGeneric = 0, kGlobal = 1, kConstant = 4 };

// The types of threadIdx and its like, which are declared as variables and hold nothing: in clang's headers for CUDA, and in
// HIP's of ROCm before 5.7 and since.
constexpr StringLiteral kBuiltinTypes[] = {"struct.__cuda_builtin_", "struct.__HIP_Coordinates<", "struct.__hip_builtin_"};

// Constants by which ROCm's device libraries are told what they are compiled for. Where a header defines one, clang takes it for
// a variable that the host may change.
constexpr StringLiteral kControlConstants = "__oclc_";

bool is_builtin_variable(const GlobalVariable& variable) {
  auto* type = dyn_cast<StructType>(variable.getValueType());
  return type && type->hasName() && any_of(kBuiltinTypes, [&](StringRef p) { return type->getName().starts_with(p); });
}

bool is_managed(const GlobalVariable& variable) {
  const Module& module = *variable.getParent();
  if (module.getNamedGlobal((variable.getName() + ".managed").str())) return true;  // HIP: the pointer to the managed variable
  if (variable.hasAttribute("nvvm.managed")) return true;
  const NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations");
  for (unsigned i = 0; annotations && i < annotations->getNumOperands(); ++i) {
    const MDNode* node = annotations->getOperand(i);
    auto* subject = node->getNumOperands() ? dyn_cast_or_null<ConstantAsMetadata>(node->getOperand(0).get()) : nullptr;
    if (!subject || subject->getValue() != &variable) continue;
    for (const MDOperand& operand : node->operands()) {
      auto* word = dyn_cast_or_null<MDString>(operand.get());
      if (word && word->getString() == "managed") return true;
    }
  }
  return false;
}

}  // namespace

bool is_state(const GlobalVariable& variable) {
  unsigned space = variable.getAddressSpace();
  if (space != kGeneric && space != kGlobal && space != kConstant) return false;
  StringRef name = variable.getName();
  if (name.starts_with("llvm.") || name.starts_with(MNEME_SEGMENT_PREFIX) || is_builtin_variable(variable)) return false;
  if (name.starts_with(kControlConstants) && variable.isConstant()) return false;
  if (variable.isDeclaration()) return true;
  if (variable.isExternallyInitialized()) return true;
  if (variable.isConstant()) return false;
  if (!variable.hasLocalLinkage()) return true;
  return pointer_uses(variable).written;
}

void make_visible(GlobalVariable& variable, StringRef suffix) {
  if (!variable.hasLocalLinkage()) return;
  std::string name = visible_name(variable.getName(), suffix);
  variable.setLinkage(GlobalValue::ExternalLinkage);
  variable.setVisibility(Triple(variable.getParent()->getTargetTriple()).isAMDGCN() ? GlobalValue::ProtectedVisibility
                                                                                    : GlobalValue::DefaultVisibility);
  variable.setDSOLocal(true);
  variable.setName(name);
}

uint32_t global_flags(const GlobalVariable& variable, const GlobalVariable& clone) {
  uint32_t flags = 0;
  if (variable.getAddressSpace() == kConstant) flags |= MNEME_GLOBAL_CONSTANT_SPACE;
  if (variable.isDeclaration()) flags |= MNEME_GLOBAL_DECLARATION;
  if (is_managed(variable)) flags |= MNEME_GLOBAL_MANAGED;
  if (pointer_uses(clone).escapes) flags |= MNEME_GLOBAL_ESCAPES;
  return flags;
}

}  // namespace mneme::instrument
