#include "mneme/ir/signature.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/access.h"

namespace mneme::ir {
namespace {

std::string kernels_of(const llvm::Module& module) {
  std::string all;
  for (const llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration()) all += (all.empty() ? "" : ", ") + function.getName().str();
  return all.empty() ? "no kernel" : all;
}

// "i32", or "a structure of 24 bytes, aligned to 8"
std::string describe(const llvm::Argument& parameter) {
  const llvm::DataLayout& layout = parameter.getParent()->getParent()->getDataLayout();
  llvm::Type* type = parameter.hasByValAttr()   ? parameter.getParamByValType()
                     : parameter.hasByRefAttr() ? parameter.getParamByRefType()
                                                : parameter.getType();
  if (type != parameter.getType() || type->isAggregateType()) {
    const llvm::Align alignment = parameter.getParamAlign().value_or(layout.getABITypeAlign(type));
    return fmt::format("a structure of {} bytes, aligned to {}", layout.getTypeAllocSize(type).getFixedValue(),
                       alignment.value());
  }
  std::string spelled;
  llvm::raw_string_ostream(spelled) << *type;
  return spelled;
}

Result<const llvm::Function*> find_kernel(const llvm::Module& module, const std::string& name) {
  const llvm::Function* function = module.getFunction(name);
  if (!function || function->isDeclaration())
    return error(Code::not_found, "{} does not define the recorded kernel '{}'; it has {}", module.getModuleIdentifier(), name,
                 kernels_of(module));
  if (!is_kernel(*function))
    return error(Code::incompatible, "{} defines '{}' as a function, and no kernel: it wants the calling convention ptx_kernel",
                 module.getModuleIdentifier(), name);
  return function;
}

}  // namespace

Status check_defines_kernel(const Module& module, const std::string& name) {
  return find_kernel(llvm_module(module), name).status();
}

Status check_replacement(const Module& recorded, const Module& replacement, const std::string& name) {
  const llvm::Module& before = llvm_module(recorded);
  const llvm::Module& after = llvm_module(replacement);
  if (before.getTargetTriple().getArch() != after.getTargetTriple().getArch())
    return error(Code::incompatible, "{} is for the target '{}', and the recorded kernel for '{}'", after.getModuleIdentifier(),
                 after.getTargetTriple().str(), before.getTargetTriple().str());
  MNEME_ASSIGN(const llvm::Function* old_kernel, find_kernel(before, name));
  MNEME_ASSIGN(const llvm::Function* new_kernel, find_kernel(after, name));
  if (old_kernel->arg_size() != new_kernel->arg_size())
    return error(Code::incompatible, "{}: '{}' takes {} parameters, and {} as it was recorded", after.getModuleIdentifier(), name,
                 new_kernel->arg_size(), old_kernel->arg_size());
  for (unsigned i = 0; i < old_kernel->arg_size(); ++i) {
    const std::string was = describe(*old_kernel->getArg(i)), is = describe(*new_kernel->getArg(i));
    if (was != is)
      return error(Code::incompatible, "{}: parameter {} of '{}' is {}, and {} as it was recorded", after.getModuleIdentifier(),
                   i, name, is, was);
  }
  return {};
}

}  // namespace mneme::ir
