#include "mneme/compile/pipeline.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <optional>

#include "mneme/base/suggestion.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pass_name.h"
#include "mneme/compile/target_features.h"
#include "mneme/ir/analyses.h"
#include "mneme/ir/diagnostics.h"

namespace mneme {
namespace {

constexpr llvm::StringRef kInstCombine = "instcombine";
constexpr llvm::StringRef kNoVerify = "no-verify-fixpoint";

// What is often written for a pipeline of clang's levels.
std::string advice_on(llvm::StringRef pipeline) {
  llvm::StringRef level = pipeline;
  level.consume_front("-");
  if (llvm::is_contained({"O0", "O1", "O2", "O3", "Os", "Oz"}, level)) return ("; it is written default<" + level + ">").str();
  if (pipeline.trim().empty()) return "; the least there is, is default<O0>";
  return "";
}

// Of "default<O2>"; nothing: it is none of clang's levels.
std::optional<llvm::OptimizationLevel> level_of(llvm::StringRef pipeline) {
  if (!pipeline.consume_front("default<O") || !pipeline.consume_back(">") || pipeline.size() != 1) return std::nullopt;
  switch (pipeline.front()) {
    case '0': return llvm::OptimizationLevel::O0;
    case '1': return llvm::OptimizationLevel::O1;
    case '2': return llvm::OptimizationLevel::O2;
    case '3': return llvm::OptimizationLevel::O3;
    case 's': return llvm::OptimizationLevel::Os;
    case 'z': return llvm::OptimizationLevel::Oz;
    default: return std::nullopt;
  }
}

// What clang makes of a level beside the pipeline of its name: "default<O1>" alone would unroll and vectorise loops.
llvm::PipelineTuningOptions clangs_tuning(llvm::OptimizationLevel level) {
  llvm::PipelineTuningOptions tuning;
  const bool above_1 = level.getSpeedupLevel() > 1;  // 2 for Os and Oz
  tuning.LoopUnrolling = tuning.LoopInterleaving = tuning.SLPVectorization = above_1;
  tuning.LoopVectorization = above_1 && level.getSizeLevel() < 2;
  return tuning;
}

// As LLVM parses "default<O2>", for a builder that is tuned as clang's.
llvm::ModulePassManager clangs_pipeline(llvm::OptimizationLevel level, llvm::TargetMachine* machine, const PassPlugins& plugins,
                                        llvm::PassInstrumentationCallbacks& instrumentation) {
  llvm::PassBuilder builder(machine, clangs_tuning(level), std::nullopt, &instrumentation);
  plugins.register_with(builder);
  return level == llvm::OptimizationLevel::O0 ? builder.buildO0DefaultPipeline(level)
                                              : builder.buildPerModuleDefaultPipeline(level);
}

std::vector<std::string> known_passes(llvm::PassBuilder& builder) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  builder.printPassNames(stream);
  std::vector<std::string> names = {"default", kAsBuilt, "module", "cgscc", "function", "loop", "loop-mssa"};
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)  // headings begin the line, names stand behind spaces, their parameters behind "<"
    if (line.starts_with(" ")) names.push_back(line.trim().split('<').first.str());
  return names;
}

// What was meant by a level of optimisation that is none: "03", "3", "o3".
std::string advice_on_level(llvm::StringRef level) {
  llvm::StringRef meant = level.ltrim("-oO0");
  if (meant.empty() && level.ends_with("0")) meant = "0";
  if (meant.size() == 1 && llvm::StringRef("0123sz").contains(meant)) return ("; did you mean 'O" + meant + "'?").str();
  return "; the levels are O0, O1, O2, O3, Os and Oz";
}

// What stands in quotes behind `key` in LLVM's words.
std::optional<llvm::StringRef> quoted_behind(llvm::StringRef words, llvm::StringRef key) {
  const size_t at = words.find(key);
  if (at == llvm::StringRef::npos) return std::nullopt;
  return words.drop_front(at + key.size()).split('\'').second.split('\'').first;
}

// Of the name, or the level, that LLVM's words say it does not know.
std::string suggestion(llvm::StringRef words, llvm::PassBuilder& builder) {
  if (auto level = quoted_behind(words, "invalid optimization level")) return advice_on_level(*level);
  const auto unknown = quoted_behind(words, "unknown ");
  if (!unknown) return "";
  const llvm::StringRef name = unknown->split('<').first;
  if (name == kAsBuilt && (words.contains("unknown pass name") || words.contains("unknown module pass")))
    return "; it is what a recorded kernel was compiled with, and that is not known here: name a pipeline, as default<O3>";
  if (llvm::is_contained({kAsBuilt, "default", "thinlto-pre-link", "thinlto", "lto-pre-link", "lto"}, name))
    return "; it is for a module: write function(...) around the passes of functions that stand before it";
  return did_you_mean(std::string_view(name), known_passes(builder));
}

// "instcombine" → "instcombine<no-verify-fixpoint>", unless its options already say.
std::string without_fixpoint_verification(llvm::StringRef pipeline) {
  std::string result;
  for (size_t at; (at = find_pass_name(pipeline, kInstCombine)) != llvm::StringRef::npos;) {
    result += pipeline.take_front(at + kInstCombine.size());
    pipeline = pipeline.drop_front(at + kInstCombine.size());
    if (!pipeline.starts_with("<")) {
      result += ("<" + kNoVerify + ">").str();
    } else if (!pipeline.take_until([](char c) { return c == '>'; }).contains("verify-fixpoint")) {
      result += ("<" + kNoVerify + (pipeline.starts_with("<>") ? "" : ";")).str();
      pipeline = pipeline.drop_front(1);
    }
  }
  return result + pipeline.str();
}

llvm::CodeGenOptLevel codegen_level(unsigned level) {
  return llvm::CodeGenOpt::getLevel(static_cast<int>(level)).value_or(llvm::CodeGenOptLevel::Aggressive);
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> create_target_machine(const llvm::Module& module, const TargetChoice& choice) {
  initialize_llvm();
  const llvm::Triple& triple = module.getTargetTriple();
  std::string words;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, words);
  if (!target)
    return error(Code::unsupported, "compiling {} for target '{}': {}", module.getModuleIdentifier(), triple.str(), words);
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (known) MNEME_TRY(check_features(choice.features, *known, choice.cpu));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = choice.fusion;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, choice.cpu, choice.features, options, llvm::Reloc::PIC_, std::nullopt, codegen_level(choice.codegen_level)));
  if (!machine)
    return error(Code::unsupported, "compiling {}: LLVM makes no code for target '{}'", module.getModuleIdentifier(),
                 triple.str());
  return machine;
}

Status run_pipeline(llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline, const PassPlugins& plugins,
                    const std::string& as_built) {
  llvm::PassInstrumentationCallbacks all_run;
  const auto add_as_built = [&](llvm::PassBuilder& builder) {
    builder.registerPipelineParsingCallback(
        [&](llvm::StringRef name, llvm::ModulePassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement> inner) {
          const auto level = level_of(as_built);
          if (name != kAsBuilt || !inner.empty() || !level) return false;
          passes.addPass(clangs_pipeline(*level, &machine, plugins, all_run));
          return true;
        });
  };
  return run_pipeline(module, &machine, pipeline, plugins, add_as_built, [] { return true; });
}

std::string as_opt_takes_it(const std::string& pipeline) { return without_fixpoint_verification(pipeline); }

AssemblerOptions assembler_options(const CompileOptions& options) {
  AssemblerOptions assembler = options.assembler;
  const auto level = names_as_built(options.passes) ? level_of(options.as_built) : std::nullopt;
  constexpr unsigned kUsual = 3;  // left out, so that the same PTX is the same translation
  if (level && !assembler.level && level->getSpeedupLevel() != kUsual) assembler.level = level->getSpeedupLevel();
  return assembler;
}

unsigned codegen_level(const CompileOptions& options) {
  const auto level = names_as_built(options.passes) ? level_of(options.as_built) : std::nullopt;
  return level && options.codegen.level == CodegenOptions().level ? level->getSpeedupLevel() : options.codegen.level;
}

Status run_pipeline(llvm::Module& module, llvm::TargetMachine* machine, const std::string& pipeline, const PassPlugins& plugins,
                    llvm::function_ref<void(llvm::PassBuilder&)> add_passes, llvm::function_ref<bool()> keep_on) {
  ir::Analyses analyses;
  llvm::PassInstrumentationCallbacks instrumentation;
  instrumentation.registerShouldRunOptionalPassCallback([&](llvm::StringRef, llvm::Any) { return keep_on(); });
  llvm::PassBuilder builder(machine, llvm::PipelineTuningOptions(), std::nullopt, &instrumentation);
  plugins.register_with(builder);
  add_passes(builder);
  analyses.functions.registerPass(
      [&] { return llvm::TargetLibraryAnalysis(llvm::TargetLibraryInfoImpl(module.getTargetTriple())); });
  analyses.functions.registerPass([&] { return builder.buildDefaultAAPipeline(); });
  analyses.register_rest(builder);

  llvm::ModulePassManager passes;
  // The user's own words first, so that LLVM's message is about them.
  llvm::Error failure = builder.parsePassPipeline(passes, pipeline);
  if (!failure) {
    passes = llvm::ModulePassManager();
    failure = builder.parsePassPipeline(passes, without_fixpoint_verification(pipeline));
  }
  if (failure) {
    const std::string words = llvm::toString(std::move(failure)), advice = advice_on(pipeline);
    return error(Code::invalid_argument, "pass pipeline '{}' does not parse: {}{}", pipeline, words,
                 advice.empty() ? suggestion(words, builder) : advice);
  }

  ir::DiagnosticCollector diagnostics(module.getContext());
  passes.run(module, analyses.modules);
  if (diagnostics.failed()) return error(Code::internal, "running pass pipeline '{}': {}", pipeline, diagnostics.errors());
  return {};
}

}  // namespace mneme
