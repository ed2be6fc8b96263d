#include "mneme/replay/compile_launch.h"

#include "mneme/base/activity.h"
#include "mneme/compile/backend.h"
#include "mneme/compile/object_cache.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/code_level.h"

namespace mneme {
namespace {

// As a device that has the architecture would be described.
Status compile_into(ReplayResult& result, RecordedCode& code, const RecordedLaunch& launch, const Configuration& configuration,
                    const CodeFor& made_for, Compiler& compiler) {
  MNEME_ASSIGN(result.shape, configuration.launch_shape(launch.instance));
  result.fewer_threads = fewer_threads(*result.shape, recorded_shape(launch.instance));
  MNEME_TRY(check_launch_code(code, launch.kernel, configuration, *result.shape, made_for.kind));
  result.stage = ReplayStage::compiling;
  MNEME_ASSIGN(const CompiledCode compiled, compile_launch(code, launch, configuration, made_for, compiler, result));
  result = compiled_only(made_for, compiled, std::move(result));
  return {};
}

}  // namespace

Result<CodeFor> code_without_device(const KernelRecord& kernel, const std::string& architecture) {
  const std::string& wanted = architecture.empty() ? kernel.arch : architecture;
  MNEME_ASSIGN(const DeviceKind kind, kind_of_architecture(wanted));
  return CodeFor{kind, architecture_without_device(kind, wanted)};
}

Result<CompiledCode> compile_launch(RecordedCode& code, const RecordedLaunch& launch, const Configuration& configuration,
                                    const CodeFor& made_for, Compiler& compiler, ReplayResult& result) {
  ActivityScope compiling(Activity::compiling);
  if (const ProgramCode* program = code.program(configuration)) {
    MNEME_ASSIGN(const Translation translation,
                 translate_program_code(*program, configuration.assembler, driver_options(launch.instance), made_for.kind,
                                        made_for.architecture));
    return compiler.assemble(translation);
  }
  MNEME_ASSIGN(KernelCode * source, code.sources()->find(configuration.ir));
  MNEME_ASSIGN(CompileRequest request, compile_request(configuration, launch, *source));
  if (!configuration.specialise.empty()) result.specialised = report_of(request.specialised);
  if (auto known = compiler.find(source->digest(), request.options)) return std::move(*known);
  MNEME_ASSIGN(const ir::Module* module, source->module());
  return compiler.compile(*module, request.options);
}

Status check_launch_code(const RecordedCode& code, const KernelRecord& kernel, const Configuration& configuration,
                         const LaunchShape& shape, DeviceKind kind) {
  const ProgramCode* program = code.program(configuration);
  if (program == nullptr) return {};
  MNEME_TRY(check_code_level(configuration, kernel));
  return check_block(*program, kernel, shape, kind);
}

ReplayResult compiled_only(const CodeFor& made_for, const CompiledCode& code, ReplayResult result) {
  result.stage = ReplayStage::compiled;
  result.device = made_for.architecture;
  result.put(code);
  result.shared_mem_usage = code.facts.static_shared_memory;  // a device tells it of loaded code
  return result;
}

Result<std::unique_ptr<CompileOnly>> CompileOnly::prepare(const Database& database, const Digest& static_hash,
                                                          const Digest& dynamic_hash, const std::string& architecture) {
  MNEME_ASSIGN(KernelRecord kernel, database.load_kernel(static_hash));
  MNEME_ASSIGN(CodeFor made_for, code_without_device(kernel, architecture));
  MNEME_TRY(check_device(kernel, made_for.kind));
  MNEME_ASSIGN(RecordedInstance recorded, database.load_instance(static_hash, dynamic_hash));
  MNEME_ASSIGN(MemoryPlan plan, plan_memory(kernel, recorded.instance, recorded.prologue, recorded.epilogue));
  MNEME_ASSIGN(RecordedCode code, RecordedCode::load(database, kernel));
  std::unique_ptr<CompileOnly> work(new CompileOnly(std::move(code)));
  work->kernel_ = std::move(kernel);
  work->instance_ = std::move(recorded.instance);
  work->plan_ = std::move(plan);
  work->made_for_ = std::move(made_for);
  // One that somebody has named may be none.
  const auto create = architecture.empty() ? Compiler::create_when_asked : Compiler::create;
  MNEME_ASSIGN(work->compiler_, create(work->made_for_.kind, work->made_for_.architecture));
  return work;
}

void CompileOnly::use_cache(std::shared_ptr<DiskCache> cache) {
  code_.use_cache(cache);
  compiler_ = create_caching_compiler(std::move(compiler_), std::move(cache));
}

ReplayResult CompileOnly::compile(const Configuration& configuration) {
  ReplayResult result;
  result.device = made_for_.architecture;
  result.recorded_on = instance_.device_kind;
  result.recorded_time = instance_.recorded_time;
  result.failure = compile_into(result, code_, {kernel_, instance_, plan_}, configuration, made_for_, *compiler_);
  return result;
}

}  // namespace mneme
