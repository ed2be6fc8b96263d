#include "mneme/compile/nvptx/tool_commands.h"

#include "mneme/compile/pipeline.h"
#include "mneme/compile/tool_trial.h"

namespace mneme::nvptx {
namespace {

// The options that opt and llc share.
std::vector<std::string> target_options(const CodegenTarget& target) {
  std::vector<std::string> options = {"-mcpu=" + target.architecture};
  if (!target.features.empty()) options.push_back("-mattr=" + target.features);
  options.push_back(fmt::format("-fp-contract={}", contraction_word(target.fusion)));
  if (target.pointers == CodegenTarget::Pointers::narrow) options.emplace_back("-nvptx-short-ptr");
  return options;
}

}  // namespace

Result<ToolCommands> tool_commands(const CompileOptions& options, const std::string& architecture,
                                   const std::function<Status(NvptxCompilation&)>& run) {
  MNEME_TRY(check_tools(options));
  using DebugInfo = NvptxCompilation::DebugInfo;
  NvptxCompilation specialised(options, Stage::specialised, architecture, DebugInfo::lines);
  MNEME_TRY(run(specialised));
  NvptxCompilation compiled(options, Stage::assembly, architecture);
  MNEME_TRY(run(compiled));
  ToolTrial trial;
  trial.ir = std::move(specialised.code());
  trial.assembly = std::move(compiled.code());
  trial.target = target_options(compiled.target());
  trial.linkage = {"\t// .weak", "\t// .globl"};
  trial.visibility = {".weak ", ".visible "};
  trial.machine = [&] { return create_machine(compiled.target(), codegen_level(options)); };
  trial.emit = [](llvm::Module& module, llvm::TargetMachine& machine) { return emit_ptx(module, machine); };
  return try_tools(options, std::move(trial));
}

}  // namespace mneme::nvptx
