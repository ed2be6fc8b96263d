#include "mneme/compile/tool_trial.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>

#include <algorithm>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/stages.h"

namespace mneme {
namespace {

// Who may call a function, and in which files, is no matter of code that is linked by itself.
std::string without_linkage(const ToolTrial& trial, const std::string& assembly) {
  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(assembly).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (std::ranges::any_of(trial.linkage, [&](std::string_view begin) { return line.starts_with(begin); })) continue;
    for (const std::string_view word : trial.visibility) line.consume_front(word);
    text += line.str() + "\n";
  }
  return text;
}

struct Made {
  std::string optimised, assembly;
};

// What opt and llc make under these pipelines.
Result<Made> make(const ToolTrial& trial, const ir::Module& module, const std::string& passes, const std::string& cleaning) {
  Made made;
  MNEME_TRY(run_llvm_on_copy(module, [&](llvm::Module& copy) -> Status {
    MNEME_ASSIGN(const auto machine, trial.machine());
    MNEME_TRY(run_pipeline(copy, *machine, passes));
    if (!cleaning.empty()) MNEME_TRY(run_pipeline(copy, *machine, cleaning));
    MNEME_TRY(print_to(made.optimised, copy));
    MNEME_ASSIGN(made.assembly, trial.emit(copy, *machine));
    return {};
  }));
  return made;
}

// What drops functions and constants that nothing reaches any more after `passes`, as drop_unreached() does. What is reached
// stays visible outside of the file; opt has no pass that gives it the linkage which it has there.
Result<std::string> cleaning_after(const ToolTrial& trial, const ir::Module& module, const std::string& passes) {
  std::string kept;
  MNEME_TRY(run_llvm_on_copy(module, [&](llvm::Module& copy) -> Status {
    MNEME_ASSIGN(const auto machine, trial.machine());
    MNEME_TRY(run_pipeline(copy, *machine, passes));
    MNEME_TRY(drop_unreached(copy, *machine));
    for (const llvm::GlobalObject& object : copy.global_objects())
      if (!object.isDeclaration() && !object.hasLocalLinkage() && !object.hasAppendingLinkage())
        kept += fmt::format("{}preserve-gv={}", kept.empty() ? "" : ";", object.getName().str());
    return {};
  }));
  return fmt::format("internalize<{}>,globaldce", kept);
}

}  // namespace

Status check_tools(const CompileOptions& options) {
  if (options.pass_plugins.empty()) return {};
  return Status(Code::unsupported, "pass_plugins: a plugin of LLVM's is a library of this machine, which no text has");
}

Result<ToolCommands> try_tools(const CompileOptions& options, ToolTrial trial) {
  ToolCommands commands;
  commands.llvm = LLVM_VERSION_STRING;
  const std::string level = options.as_built.empty() ? std::string(kAsBuilt) : options.as_built;
  commands.passes = as_opt_takes_it(replace_as_built(options.passes, level));
  commands.opt = commands.llc = trial.target;
  commands.llc.push_back(fmt::format("-O{}", codegen_level(options)));
  commands.llc.emplace_back("-asm-verbose=false");  // no comments
  commands.llc.insert(commands.llc.end(), trial.codegen.begin(), trial.codegen.end());

  MNEME_ASSIGN(const ir::Module text, ir::Module::parse(std::as_bytes(std::span(trial.ir)), "kernel.ll"));
  MNEME_ASSIGN(Made made, make(trial, text, commands.passes, ""));
  if (made.assembly != trial.assembly) {
    MNEME_ASSIGN(commands.cleaning, cleaning_after(trial, text, commands.passes));
    MNEME_ASSIGN(made, make(trial, text, commands.passes, commands.cleaning));
  }
  using Fidelity = ToolCommands::Fidelity;
  if (made.assembly != trial.assembly) {
    const bool same = without_linkage(trial, made.assembly) == without_linkage(trial, trial.assembly);
    commands.fidelity = same ? Fidelity::linkage : Fidelity::other;
  }
  commands.ir = std::move(trial.ir);
  commands.optimised = std::move(made.optimised);
  commands.assembly = std::move(trial.assembly);
  return commands;
}

std::string_view contraction_word(llvm::FPOpFusion::FPOpFusionMode fusion) {
  switch (fusion) {
    case llvm::FPOpFusion::Fast: return "fast";
    case llvm::FPOpFusion::Strict: return "off";
    case llvm::FPOpFusion::Standard: break;
  }
  return "on";
}

}  // namespace mneme
