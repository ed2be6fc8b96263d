#include "mneme/replay/compile_request.h"

#include "mneme/base/activity.h"

namespace mneme {

CompileOptions compile_options(const Configuration& configuration, const KernelRecord& kernel, const MemoryPlan& plan) {
  CompileOptions options;
  options.passes = configuration.passes;
  options.pass_plugins = configuration.pass_plugins;
  options.codegen = configuration.codegen;
  options.assembler = configuration.assembler;
  for (const PlannedRegion& region : plan.regions)
    if (region.prologue.kind == Region::Kind::global && region.placement == Placement::recorded_address)
      options.bindings.push_back({region.prologue.name, region.prologue.address});
  options.kernels = {kernel.name};
  return options;
}

Result<ir::Module> load_module(const Database& database, const KernelRecord& kernel) {
  MNEME_ASSIGN(auto bitcode, database.load_ir(kernel.static_hash));
  ActivityScope compiling(Activity::compiling);  // a damaged module can crash LLVM too
  return ir::Module::parse(bitcode, "the recorded IR of " + kernel.demangled);
}

}  // namespace mneme
