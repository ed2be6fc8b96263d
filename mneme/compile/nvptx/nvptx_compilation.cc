#include "mneme/compile/nvptx/nvptx_compilation.h"

#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"

namespace mneme::nvptx {

Status NvptxCompilation::check(const llvm::Module& module) {
  return module.getTargetTriple().isNVPTX() ? Status() : refuse_target(module, architecture(), "NVIDIA GPUs");
}

Result<CodeTarget> NvptxCompilation::target(const llvm::Module& module) {
  target_ = CodegenTarget::of(module, target_.architecture, options().codegen);
  MNEME_TRY(check_registers("assembler.max_registers", options().assembler.max_registers, target_.architecture));
  MNEME_TRY(check_registers("specialise.max_registers", options().specialisation.bounds.max_registers, target_.architecture));
  MNEME_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, create_machine(target_, codegen_level(options())));
  return CodeTarget{target_.architecture, std::move(machine)};
}

Status NvptxCompilation::after_tracking(llvm::Module& module) {
  if (debug_ == DebugInfo::lines) reduce_debug_info(module);
  return {};
}

Status NvptxCompilation::generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) {
  MNEME_TRY(drop_unreached(module, machine));
  state() = expose_state(module, AllowedNames::identifiers);
  MNEME_ASSIGN(code(), stages().time("codegen", [&] { return emit_ptx(module, machine, plugins); }));
  return {};
}

}  // namespace mneme::nvptx
