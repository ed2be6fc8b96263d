#include "mneme/compile/amdgpu/amdgpu_compilation.h"

#include "mneme/compile/amdgpu/device_libraries.h"
#include "mneme/compile/emit.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"

namespace mneme::amdgpu {

Status AmdgpuCompilation::check(const llvm::Module& module) {
  return module.getTargetTriple().isAMDGCN() ? Status() : refuse_target(module, architecture(), "AMD GPUs");
}

Result<CodeTarget> AmdgpuCompilation::target(const llvm::Module& module) {
  MNEME_ASSIGN(target_, CodegenTarget::of(module, architecture_, options().codegen));
  MNEME_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, create_machine(*target_, codegen_level(options())));
  return CodeTarget{target_->id.text(), std::move(machine)};
}

Status AmdgpuCompilation::before_binding(llvm::Module& module) {
  MNEME_TRY(link_device_libraries(module, library_folders_));
  set_target(module, *target_, options().codegen.ftz);
  return {};
}

Status AmdgpuCompilation::generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) {
  MNEME_TRY(drop_unreached(module, machine));
  state() = expose_state(module, AllowedNames::any);
  protect_visible(module);
  const auto type = last() ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  MNEME_ASSIGN(code(), stages().time("codegen", [&] { return emit_code(module, machine, type, plugins, what()); }));
  return {};
}

}  // namespace mneme::amdgpu
