#include "mneme/compile/amdgpu/tool_commands.h"

#include "mneme/compile/emit.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/tool_trial.h"

namespace mneme::amdgpu {

Result<ToolCommands> tool_commands(const CompileOptions& options, const std::string& architecture,
                                   const std::vector<std::string>& library_folders,
                                   const std::function<Status(AmdgpuCompilation&)>& run) {
  MNEME_TRY(check_tools(options));
  AmdgpuCompilation specialised(options, Stage::specialised, architecture, library_folders);
  MNEME_TRY(run(specialised));
  AmdgpuCompilation compiled(options, Stage::assembly, architecture, library_folders);
  MNEME_TRY(run(compiled));
  const CodegenTarget& target = compiled.target();
  ToolTrial trial;
  trial.ir = std::move(specialised.code());
  trial.assembly = std::move(compiled.code());
  trial.target = {"-mcpu=" + target.id.processor, "-mattr=" + target.features,
                  fmt::format("-fp-contract={}", contraction_word(target.fusion))};
  trial.linkage = {"\t.globl\t", "\t.weak\t", "\t.protected\t", "\t.hidden\t"};
  trial.machine = [&] { return create_machine(target, codegen_level(options)); };
  trial.emit = [&](llvm::Module& module, llvm::TargetMachine& machine) {
    return emit_code(module, machine, llvm::CodeGenFileType::AssemblyFile, {}, "making code for " + compiled.architecture());
  };
  return try_tools(options, std::move(trial));
}

std::vector<std::string> linker_arguments() { return {"-m", "elf64_amdgpu", "--no-undefined", "--build-id=none"}; }

}  // namespace mneme::amdgpu
