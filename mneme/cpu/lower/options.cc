#include "mneme/cpu/lower/options.h"

namespace mneme::cpu {
namespace {

Status check(const AssemblerOptions& options) {
  const char* knob = options.level                              ? "level"
                     : !options.options.empty()                 ? "options"
                     : options.max_registers                    ? "max_registers"
                     : options.load_cache != LoadCache::unset   ? "load_cache"
                     : options.store_cache != StoreCache::unset ? "store_cache"
                                                                : nullptr;
  if (!knob) return {};
  return error(Code::unsupported, "assembler.{} has no effect on the CPU device, whose code is not made from PTX: leave it out",
               knob);
}

Status check(const LaunchBounds& bounds) {
  const std::pair<const char*, bool> given[] = {{"max_threads", bounds.max_threads.has_value()},
                                                {"min_blocks", bounds.min_blocks.has_value()},
                                                {"max_cluster", bounds.max_cluster.has_value()},
                                                {"max_registers", bounds.max_registers.has_value()}};
  for (auto [name, there] : given)
    if (there) return error(Code::unsupported, "specialise.{} has no effect on the CPU device: leave it out there", name);
  return {};
}

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
  MNEME_TRY(check(options.assembler));
  MNEME_TRY(check(options.codegen));
  return check(options.specialisation.bounds);
}

}  // namespace mneme::cpu
