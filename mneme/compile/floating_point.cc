#include "mneme/compile/floating_point.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include "mneme/base/suggestion.h"

namespace mneme {
namespace {

Result<llvm::FastMathFlags> parse_flags(const std::vector<std::string>& names) {
  llvm::FastMathFlags flags;
  for (const std::string& name : names) {
    if (name == "nnan")
      flags.setNoNaNs();
    else if (name == "ninf")
      flags.setNoInfs();
    else if (name == "nsz")
      flags.setNoSignedZeros();
    else if (name == "arcp")
      flags.setAllowReciprocal();
    else if (name == "contract")
      flags.setAllowContract(true);
    else if (name == "afn")
      flags.setApproxFunc();
    else if (name == "reassoc")
      flags.setAllowReassoc();
    else if (name == "fast")
      flags.setFast();
    else
      return error(Code::invalid_argument, "there is no fast-math flag '{}'{}", name,
                   did_you_mean(name, {std::begin(kFastMathFlags), std::end(kFastMathFlags)}));
  }
  return flags;
}

void set_flags(llvm::Module& module, llvm::FastMathFlags added, Contraction contraction) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!llvm::isa<llvm::FPMathOperator>(instruction)) continue;
      llvm::FastMathFlags flags = instruction.getFastMathFlags();
      flags |= added;
      if (contraction != Contraction::recorded) flags.setAllowContract(contraction == Contraction::fast);
      // Not setFastMathFlags, which only adds.
      instruction.copyFastMathFlags(flags);
    }
  }
}

void set_denormals(llvm::Module& module, FlushDenormals ftz) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("denormal-fp-math-f32", ftz == FlushDenormals::on ? "preserve-sign,preserve-sign" : "ieee,ieee");
  }
  module.setModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", ftz == FlushDenormals::on ? 1u : 0u);
}

}  // namespace

Status set_floating_point(llvm::Module& module, const CodegenOptions& codegen) {
  MNEME_ASSIGN(llvm::FastMathFlags flags, parse_flags(codegen.fast_math));
  if (flags.allowContract() && (codegen.contraction == Contraction::on || codegen.contraction == Contraction::off))
    return error(
        Code::invalid_argument,
        "the fast-math flag 'contract' (also of 'fast') and contraction '{}' contradict each other: name the other flags, or "
        "leave the contraction out",
        codegen.contraction == Contraction::on ? "on" : "off");
  if (flags.any() || codegen.contraction != Contraction::recorded) set_flags(module, flags, codegen.contraction);
  if (codegen.ftz != FlushDenormals::recorded) set_denormals(module, codegen.ftz);
  return {};
}

llvm::FPOpFusion::FPOpFusionMode fusion_mode(Contraction contraction, bool recorded) {
  switch (contraction) {
    case Contraction::fast: return llvm::FPOpFusion::Fast;
    case Contraction::on: return llvm::FPOpFusion::Standard;
    case Contraction::off: return llvm::FPOpFusion::Strict;
    case Contraction::recorded: break;
  }
  return recorded ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
}

bool contracts(const CodegenOptions& codegen) {
  auto flags = parse_flags(codegen.fast_math);
  return codegen.contraction == Contraction::fast || (flags.ok() && flags->allowContract());
}

}  // namespace mneme
