#include "mneme/compile/pipeline.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <optional>

#include "mneme/base/suggestion.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/target_features.h"
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

std::vector<std::string> known_passes(llvm::PassBuilder& builder) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  builder.printPassNames(stream);
  std::vector<std::string> names = {"default", "module", "cgscc", "function", "loop", "loop-mssa"};
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
  if (llvm::is_contained({"default", "thinlto-pre-link", "thinlto", "lto-pre-link", "lto"}, name))
    return "; it is for a module: write function(...) around the passes of functions that stand before it";
  return did_you_mean(std::string_view(name), known_passes(builder));
}

bool ends_name(char c) { return !llvm::isAlnum(c) && c != '-' && c != '_'; }

// "instcombine" → "instcombine<no-verify-fixpoint>", unless its options already say.
std::string without_fixpoint_verification(llvm::StringRef pipeline) {
  std::string result;
  while (!pipeline.empty()) {
    const size_t at = pipeline.find(kInstCombine);
    if (at == llvm::StringRef::npos) break;
    const bool starts = at == 0 || ends_name(pipeline[at - 1]);
    const size_t after = at + kInstCombine.size();
    result += pipeline.take_front(after);
    const bool whole = starts && (after == pipeline.size() || ends_name(pipeline[after]));
    pipeline = pipeline.drop_front(after);
    if (!whole) continue;
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

Status run_pipeline(llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline, const PassPlugins& plugins) {
  return run_pipeline(module, &machine, pipeline, plugins, [](llvm::PassBuilder&) {}, [] { return true; });
}

Status run_pipeline(llvm::Module& module, llvm::TargetMachine* machine, const std::string& pipeline, const PassPlugins& plugins,
                    llvm::function_ref<void(llvm::PassBuilder&)> add_passes, llvm::function_ref<bool()> keep_on) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;

  llvm::PassInstrumentationCallbacks instrumentation;
  instrumentation.registerShouldRunOptionalPassCallback([&](llvm::StringRef, llvm::Any) { return keep_on(); });
  llvm::PassBuilder builder(machine, llvm::PipelineTuningOptions(), std::nullopt, &instrumentation);
  plugins.register_with(builder);
  add_passes(builder);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(llvm::TargetLibraryInfoImpl(module.getTargetTriple())); });
  functions.registerPass([&] { return builder.buildDefaultAAPipeline(); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

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
  passes.run(module, modules);
  if (diagnostics.failed()) return error(Code::internal, "running pass pipeline '{}': {}", pipeline, diagnostics.errors());
  return {};
}

}  // namespace mneme
