#include "mneme/cpu/lower/amdgcn/control_constants.h"

#include <llvm/IR/Constants.h>

#include <optional>

#include "mneme/cpu/lower/amdgcn/warp_size.h"

namespace mneme::cpu::amdgcn {
namespace {

constexpr uint64_t kAbiVersion = 500;

// "gfx90a" is 9010, "gfx1030" 10300: the last two characters are the minor version and the stepping, a hexadecimal digit each.
uint64_t isa_version(llvm::StringRef processor) {
  unsigned major = 0, minor = 0, stepping = 0;
  if (!processor.consume_front("gfx") || processor.size() < 3) return 0;
  const bool failed = processor.drop_back(2).getAsInteger(10, major) ||
                      processor.take_back(2).take_front().getAsInteger(16, minor) ||
                      processor.take_back().getAsInteger(16, stepping);
  return failed ? 0 : major * 1000 + minor * 100 + stepping;
}

const llvm::Function* of_a_target(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.hasFnAttribute("target-cpu")) return &function;
  return nullptr;
}

std::optional<uint64_t> value_of(llvm::StringRef name, const llvm::Module& module) {
  const llvm::Function* function = of_a_target(module);
  if (name == "__oclc_daz_opt" || name == "__oclc_finite_only_opt" || name == "__oclc_unsafe_math_opt") return 0;
  if (name == "__oclc_correctly_rounded_sqrt32") return 1;
  if (name == "__oclc_ABI_version") return kAbiVersion;
  if (!function) return std::nullopt;
  if (name == "__oclc_wavefrontsize64") return warp_size(*function) == 64 ? 1 : 0;
  if (name == "__oclc_ISA_version") return isa_version(function->getFnAttribute("target-cpu").getValueAsString());
  return std::nullopt;
}

}  // namespace

void define_controls(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isDeclaration() || !variable.getValueType()->isIntegerTy()) continue;
    const auto value = value_of(variable.getName(), module);
    if (!value) continue;
    variable.setInitializer(llvm::ConstantInt::get(variable.getValueType(), *value));
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    variable.setConstant(true);
  }
}

}  // namespace mneme::cpu::amdgcn
