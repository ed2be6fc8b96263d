#include "mneme/compile/compilation.h"

#include "mneme/compile/floating_point.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/specialise.h"
#include "mneme/compile/track_accesses.h"
#include "mneme/compile/variable_table.h"

namespace mneme {

Status Compilation::run(llvm::Module& module) {
  MNEME_TRY(check(module));
  MNEME_ASSIGN(PassPlugins plugins, PassPlugins::load(options_.pass_plugins));
  MNEME_TRY(set_floating_point(module, options_.codegen));
  MNEME_ASSIGN(CodeTarget code_target, target(module));
  MNEME_TRY(stages_.time("prepare", [&]() -> Status {
    MNEME_TRY(prepare_module(module, options_.kernels, code_target.architecture, options_.linkage));
    MNEME_TRY(reach_by_table(module, options_.variable_table));
    MNEME_TRY(before_binding(module));
    MNEME_TRY(bind_globals(module, options_.bindings));
    MNEME_TRY(specialise(module, options_.specialisation, code_target.architecture));
    MNEME_TRY(track_accesses(module, options_.tracking));
    return after_tracking(module);
  }));
  if (last_ == Stage::specialised) return print_to(code_, module);
  MNEME_TRY(stages_.time(
      "optimise", [&] { return run_pipeline(module, *code_target.machine, options_.passes, plugins, options_.as_built); }));
  if (last_ == Stage::optimised) return print_to(code_, module);
  return generate(module, *code_target.machine, plugins);
}

Translation Compilation::take(const std::string& architecture, const AssemblerOptions& assembler) {
  return {std::move(code_), architecture, assembler, options_.kernels, stages_.take(), std::move(state_)};
}

Status refuse_target(const llvm::Module& module, const std::string& architecture, const char* devices) {
  return error(Code::incompatible, "compiling for {}: the module is for '{}', not for {}", architecture,
               module.getTargetTriple().str(), devices);
}

CompiledCode compiled_code(const Translation& translation, CodeImage image, std::string_view assembler) {
  CompiledCode code;
  code.image = std::move(image);
  code.digest = digest_of(code.image.bytes);
  code.translation_digest = translation.digest();
  code.times = translation.times;
  code.state = translation.state;
  code.assembler = assembler;
  return code;
}

}  // namespace mneme
