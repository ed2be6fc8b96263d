#include "mneme/cpu/lower/options.h"

#include "mneme/compile/device_options.h"

namespace mneme::cpu {
namespace {

constexpr char kDevice[] = "the CPU device";

Status check(const CodegenOptions& codegen) {
  if (!codegen.target.empty() && codegen.target != kArchitecture)
    return error(Code::unsupported, "the CPU device's code is made for {}, not for the target '{}': leave the target out",
                 kArchitecture, codegen.target);
  if (codegen.ftz == FlushDenormals::on)
    return error(Code::unsupported, "the CPU device does not flush denormal numbers to zero: ftz can only be recorded or off");
  return {};
}

}  // namespace

Status check_options(const CompileOptions& options) {
  MNEME_TRY(refuse_assembler_options(options.assembler, kDevice));
  MNEME_TRY(check(options.codegen));
  const LaunchBounds& bounds = options.specialisation.bounds;
  return refuse_knobs({{"codegen.code_object", options.codegen.code_object.has_value()},
                       {"specialise.max_threads", bounds.max_threads.has_value()},
                       {"specialise.min_blocks", bounds.min_blocks.has_value()},
                       {"specialise.max_cluster", bounds.max_cluster.has_value()},
                       {"specialise.max_registers", bounds.max_registers.has_value()},
                       {"specialise.waves_per_eu", bounds.waves_per_eu.has_value()}},
                      kDevice);
}

}  // namespace mneme::cpu
