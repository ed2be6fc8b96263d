#include "mneme/compile/nvptx/tool_commands.h"

#include <llvm/Config/llvm-config.h>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/stages.h"

namespace mneme::nvptx {
namespace {

std::string_view contraction_word(llvm::FPOpFusion::FPOpFusionMode fusion) {
  switch (fusion) {
    case llvm::FPOpFusion::Fast: return "fast";
    case llvm::FPOpFusion::Strict: return "off";
    case llvm::FPOpFusion::Standard: break;
  }
  return "on";
}

// The options that opt and llc share.
std::vector<std::string> target_options(const CodegenTarget& target) {
  std::vector<std::string> options = {"-mcpu=" + target.architecture};
  if (!target.features.empty()) options.push_back("-mattr=" + target.features);
  options.push_back(fmt::format("-fp-contract={}", contraction_word(target.fusion)));
  if (target.pointers == CodegenTarget::Pointers::narrow) options.emplace_back("-nvptx-short-ptr");
  return options;
}

// Who may call a function, and in which files, is no matter of a cubin by itself. It stands before the function, and in a
// comment.
std::string without_linkage(const std::string& ptx) {
  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(ptx).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (line.starts_with("\t// .weak") || line.starts_with("\t// .globl")) continue;
    for (const llvm::StringRef word : {".weak ", ".visible "}) line.consume_front(word);
    text += line.str() + "\n";
  }
  return text;
}

struct Made {
  std::string optimised, ptx;
};

class Trial {
 public:
  Trial(const ir::Module& module, const CodegenTarget& target, unsigned level)
      : module_(module), target_(target), level_(level) {}

  // What opt and llc make under these pipelines.
  Result<Made> make(const std::string& passes, const std::string& cleaning) const {
    Made made;
    MNEME_TRY(run_llvm_on_copy(module_, [&](llvm::Module& copy) -> Status {
      MNEME_ASSIGN(const auto machine, create_machine(target_, level_));
      MNEME_TRY(run_pipeline(copy, *machine, passes));
      if (!cleaning.empty()) MNEME_TRY(run_pipeline(copy, *machine, cleaning));
      MNEME_TRY(print_to(made.optimised, copy));
      MNEME_ASSIGN(made.ptx, emit_ptx(copy, *machine));
      return {};
    }));
    return made;
  }

  // What drops functions and constants that nothing reaches any more after `passes`, as drop_unreached() does. What is reached
  // stays visible outside of the file; opt has no pass that gives it the linkage which it has there.
  Result<std::string> cleaning_after(const std::string& passes) const {
    std::string kept;
    MNEME_TRY(run_llvm_on_copy(module_, [&](llvm::Module& copy) -> Status {
      MNEME_ASSIGN(const auto machine, create_machine(target_, level_));
      MNEME_TRY(run_pipeline(copy, *machine, passes));
      MNEME_TRY(drop_unreached(copy, *machine));
      for (const llvm::GlobalObject& object : copy.global_objects())
        if (!object.isDeclaration() && !object.hasLocalLinkage() && !object.hasAppendingLinkage())
          kept += fmt::format("{}preserve-gv={}", kept.empty() ? "" : ";", object.getName().str());
      return {};
    }));
    return fmt::format("internalize<{}>,globaldce", kept);
  }

 private:
  const ir::Module& module_;
  const CodegenTarget& target_;
  const unsigned level_;
};

}  // namespace

Result<ToolCommands> tool_commands(const CompileOptions& options, const std::string& architecture,
                                   const std::function<Status(NvptxCompilation&)>& run) {
  if (!options.pass_plugins.empty())
    return error(Code::unsupported, "pass_plugins: a plugin of LLVM's is a library of this machine, which no text has");
  using DebugInfo = NvptxCompilation::DebugInfo;
  NvptxCompilation specialised(options, Stage::specialised, architecture, DebugInfo::lines);
  MNEME_TRY(run(specialised));
  NvptxCompilation compiled(options, Stage::assembly, architecture);
  MNEME_TRY(run(compiled));

  ToolCommands commands;
  commands.llvm = LLVM_VERSION_STRING;
  commands.ir = std::move(specialised.code());
  const std::string level = options.as_built.empty() ? std::string(kAsBuilt) : options.as_built;
  commands.passes = as_opt_takes_it(replace_as_built(options.passes, level));
  commands.opt = commands.llc = target_options(compiled.target());
  const unsigned codegen = codegen_level(options);
  commands.llc.push_back(fmt::format("-O{}", codegen));
  commands.llc.emplace_back("-asm-verbose=false");  // no comments

  MNEME_ASSIGN(const ir::Module text, ir::Module::parse(std::as_bytes(std::span(commands.ir)), "kernel.ll"));
  const Trial trial(text, compiled.target(), codegen);
  MNEME_ASSIGN(Made made, trial.make(commands.passes, ""));
  if (made.ptx != compiled.code()) {
    MNEME_ASSIGN(commands.cleaning, trial.cleaning_after(commands.passes));
    MNEME_ASSIGN(made, trial.make(commands.passes, commands.cleaning));
  }
  commands.optimised = std::move(made.optimised);
  using Fidelity = ToolCommands::Fidelity;
  if (made.ptx != compiled.code())
    commands.fidelity = without_linkage(made.ptx) == without_linkage(compiled.code()) ? Fidelity::linkage : Fidelity::other;
  return commands;
}

}  // namespace mneme::nvptx
