#include "mneme/cpu/lower/amdgcn/control_constants.h"

#include <llvm/IR/Constants.h>

#include <optional>

#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/amdgpu/recorded_target.h"

namespace mneme::cpu::amdgcn {
namespace {

std::optional<uint64_t> value_of(llvm::StringRef name, const mneme::amdgpu::RecordedTarget& target) {
  using namespace mneme::amdgpu;
  if (name == "__oclc_daz_opt" || name == "__oclc_finite_only_opt" || name == "__oclc_unsafe_math_opt") return 0;
  if (name == "__oclc_correctly_rounded_sqrt32") return 1;
  if (name == "__oclc_ABI_version") return kVersionUnit * (target.version == 0 ? kUsualVersion : target.version);
  if (target.processor.empty()) return std::nullopt;
  if (name == "__oclc_wavefrontsize64")
    return find_wavefront(target.features).value_or(usual_wavefront(target.processor)) == 64 ? 1 : 0;
  if (name == "__oclc_ISA_version") return isa_version(target.processor);
  return std::nullopt;
}

}  // namespace

void define_controls(llvm::Module& module) {
  const mneme::amdgpu::RecordedTarget target = mneme::amdgpu::read_recorded_target(module);
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isDeclaration() || !variable.getValueType()->isIntegerTy()) continue;
    const auto value = value_of(variable.getName(), target);
    if (!value) continue;
    variable.setInitializer(llvm::ConstantInt::get(variable.getValueType(), *value));
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    variable.setConstant(true);
  }
}

}  // namespace mneme::cpu::amdgcn
