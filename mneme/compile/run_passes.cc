#include "mneme/compile/run_passes.h"

#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/registered_passes.h"
#include "mneme/ir/handle_access.h"

namespace mneme {
namespace {

using Phase = ir::ModuleState::Phase;

struct CallPass : llvm::PassInfoMixin<CallPass> {
  CallPass(ir::ModuleRef& module, const ModulePass& pass, Status& status) : module_(&module), pass_(&pass), status_(&status) {}
  llvm::PreservedAnalyses run(llvm::Module&, llvm::ModuleAnalysisManager&) {
    if (!status_->ok()) return llvm::PreservedAnalyses::none();
    const std::shared_ptr<ir::ModuleState> state = module_->state();
    state->enter(Phase::usable);  // for the pass, which works on it by its handles
    *status_ = pass_->run();
    if (status_->ok()) *status_ = module_->verify();
    if (!status_->ok()) *status_ = status_->with_context("after pass '" + pass_->name + "'");
    state->enter(Phase::running);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

 private:
  ir::ModuleRef* module_;
  const ModulePass* pass_;
  Status* status_;
};

Result<std::unique_ptr<llvm::TargetMachine>> machine_for(const llvm::Module& module, const PassOptions& options) {
  if (module.getTargetTriple().empty()) return std::unique_ptr<llvm::TargetMachine>();
  return create_target_machine(module,
                               {.cpu = options.cpu, .features = options.features, .codegen_level = options.codegen_level});
}

Status run_on(ir::ModuleRef& ref, const std::string& pipeline, const PassOptions& options, Status& own_status) {
  llvm::Module& module = ir::llvm_module(*ref.state()->module);
  MNEME_ASSIGN(const PassPlugins plugins, PassPlugins::load(options.plugins));
  MNEME_ASSIGN(const auto machine, machine_for(module, options));
  const auto add_passes = [&](llvm::PassBuilder& builder) {
    builder.registerPipelineParsingCallback(
        [&](llvm::StringRef name, llvm::ModulePassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement> inner) {
          for (const ModulePass& pass : options.passes) {
            if (pass.name != name || !inner.empty()) continue;
            passes.addPass(CallPass(ref, pass, own_status));
            return true;
          }
          return false;
        });
  };
  return run_pipeline(module, machine.get(), pipeline, plugins, add_passes, [&] { return own_status.ok(); });
}

// LLVM looks for its own passes first.
Status check_names(const PassOptions& options) {
  if (options.passes.empty()) return {};
  const std::vector<RegisteredPass> known = registered_passes();
  for (const ModulePass& pass : options.passes) {
    if (pass.name.empty() ||
        !llvm::all_of(pass.name, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; }))
      return error(Code::invalid_argument, "'{}' can be no pass's name, which is of letters, digits, '-', '_' and '.'",
                   pass.name);
    if (llvm::any_of(known, [&](const RegisteredPass& other) { return other.name == pass.name; }))
      return error(Code::invalid_argument, "a pass cannot be named '{}': LLVM has one of that name", pass.name);
  }
  return {};
}

}  // namespace

Result<PassRun> PassRun::begin(ir::ModuleRef& module, const PassOptions& options) {
  initialize_llvm();
  MNEME_TRY(check_names(options));
  PassRun run;
  run.module_ = &module;
  run.options_ = &options;
  MNEME_ASSIGN(run.before_, module.bitcode());
  MNEME_ASSIGN(run.name_, module.name());
  MNEME_TRY(module.begin_run());
  return run;
}

void PassRun::run(const std::string& pipeline) {
  status_ = run_llvm([&] { return run_on(*module_, pipeline, *options_, own_status_); }, &abandoned_);
}

Status PassRun::end() {
  const std::shared_ptr<ir::ModuleState> state = module_->state();
  if (abandoned_)
    state->abandon();
  else
    module_->end_run();
  if (own_status_.ok() && status_.ok()) return {};
  // What is refused before it runs has changed nothing.
  if (own_status_.ok() && !abandoned_ && status_.code() != Code::internal) return status_;
  MNEME_ASSIGN(ir::Module again, ir::Module::parse(before_, name_));
  module_->restart(std::move(again), "a pipeline failed, and its module was put back to what it had been before");
  return own_status_.ok() ? status_ : own_status_;
}

Status run_passes(ir::ModuleRef& module, const std::string& pipeline, const PassOptions& options) {
  MNEME_ASSIGN(PassRun run, PassRun::begin(module, options));
  run.run(pipeline);
  return run.end();
}

}  // namespace mneme
