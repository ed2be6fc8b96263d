#include "mneme/replay/compile_request.h"

#include "mneme/replay/code_level.h"

namespace mneme {

CompileOptions compile_options(const Configuration& configuration, const KernelRecord& kernel, const MemoryPlan& plan) {
  CompileOptions options;
  options.passes = configuration.passes;
  if (names_as_built(configuration.passes)) options.as_built = kernel.pipeline;
  if (kernel.pipeline.empty() && !has_program_code(kernel)) options.passes = replace_as_built(options.passes, kWhereNotKnown);
  options.linkage = configuration.linkage;
  options.pass_plugins = configuration.pass_plugins;
  options.codegen = configuration.codegen;
  options.assembler = configuration.assembler;
  for (const PlannedRegion& region : plan.regions)
    if (region.prologue.kind == Region::Kind::global && region.placement == Placement::recorded_address)
      options.bindings.push_back({region.prologue.name, region.prologue.address});
  options.kernels = {kernel.name};
  return options;
}

Result<CompileRequest> compile_request(const Configuration& configuration, const RecordedLaunch& launch, KernelCode& code) {
  CompileRequest request;
  MNEME_ASSIGN(request.shape, configuration.launch_shape(launch.instance));
  MNEME_ASSIGN(const std::optional<Dim3> required, code.required_block());
  MNEME_TRY(check_block(required, launch.kernel, request.shape));
  request.options = compile_options(configuration, launch.kernel, launch.plan);
  const LaunchFacts facts{launch.kernel, launch.instance, launch.plan, request.shape};
  const SpecialiseOptions& asked = configuration.specialise;
  const Result<PointerUse> nothing = PointerUse();
  MNEME_ASSIGN(request.specialised, resolve_facts(asked, facts, asked.no_alias ? code.pointer_use() : nothing));
  request.options.specialisation = request.specialised.values;
  return request;
}

Result<ir::Module> load_module(const Database& database, const KernelRecord& kernel) {
  MNEME_ASSIGN(const ByteVector bitcode, database.load_ir(kernel.static_hash));
  return parse_recorded(bitcode, kernel.demangled);
}

}  // namespace mneme
