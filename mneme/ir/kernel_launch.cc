#include "mneme/ir/kernel_launch.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/access.h"
#include "mneme/ir/signature.h"

namespace mneme::ir {
namespace {

KernelParameter::Kind kind_of(const llvm::Type& type) {
  if (type.isIntegerTy()) return KernelParameter::Kind::integer;
  if (type.isFloatingPointTy()) return KernelParameter::Kind::floating;
  if (type.isPointerTy()) return KernelParameter::Kind::pointer;
  return KernelParameter::Kind::aggregate;
}

std::string spelling(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

KernelParameter describe(const llvm::Argument& argument, uint64_t end_of_last) {
  const llvm::DataLayout& layout = argument.getParent()->getParent()->getDataLayout();
  const bool by_value = argument.hasByValAttr() || argument.hasByRefAttr();  // AMD's is byref
  llvm::Type* type = argument.hasByValAttr() ? argument.getParamByValType()
                     : by_value              ? argument.getParamByRefType()
                                             : argument.getType();
  llvm::Align alignment = layout.getABITypeAlign(type);
  if (by_value) alignment = argument.getParamAlign().value_or(alignment);
  KernelParameter parameter;
  parameter.kind = kind_of(*type);
  parameter.name = argument.getName().str();
  parameter.type = spelling(*type);
  parameter.alignment = static_cast<uint32_t>(alignment.value());
  parameter.offset = llvm::alignTo(end_of_last, alignment);
  parameter.size = layout.getTypeAllocSize(type).getFixedValue();
  return parameter;
}

// Of AMD's kernels: a list of three numbers.
std::optional<Dim3> required_work_group(const llvm::Function& function) {
  const llvm::MDNode* sizes = function.getMetadata("reqd_work_group_size");
  if (sizes == nullptr || sizes->getNumOperands() != 3) return std::nullopt;
  uint32_t extents[3];
  for (unsigned i = 0; i < 3; ++i) {
    const auto* size = llvm::mdconst::dyn_extract<llvm::ConstantInt>(sizes->getOperand(i));
    if (size == nullptr || size->getValue().getActiveBits() > 32) return std::nullopt;
    extents[i] = static_cast<uint32_t>(size->getZExtValue());
  }
  return Dim3{extents[0], extents[1], extents[2]};
}

}  // namespace

Result<std::vector<KernelParameter>> kernel_parameters(const Module& module, const std::string& kernel) {
  MNEME_TRY(check_defines_kernel(module, kernel));
  std::vector<KernelParameter> parameters;
  uint64_t end = 0;
  for (const llvm::Argument& argument : llvm_module(module).getFunction(kernel)->args()) {
    parameters.push_back(describe(argument, end));
    end = parameters.back().offset + parameters.back().size;
  }
  return parameters;
}

std::optional<Dim3> required_block(const Module& module, const std::string& kernel) {
  const llvm::Function* function = llvm_module(module).getFunction(kernel);
  if (function == nullptr) return std::nullopt;
  if (!function->hasFnAttribute("nvvm.reqntid")) return required_work_group(*function);
  llvm::SmallVector<llvm::StringRef, 3> words;
  function->getFnAttribute("nvvm.reqntid").getValueAsString().split(words, ',');
  uint32_t extents[3] = {1, 1, 1};
  for (size_t i = 0; i < words.size(); ++i)
    if (i >= std::size(extents) || words[i].trim().getAsInteger(10, extents[i])) return std::nullopt;
  return Dim3{extents[0], extents[1], extents[2]};
}

}  // namespace mneme::ir
