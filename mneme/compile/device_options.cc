#include "mneme/compile/device_options.h"

#include "mneme/compile/backend.h"

namespace mneme {

Status check_device_options(const CompileOptions& options, DeviceKind kind) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  return backend ? backend->check_options(options) : Status();
}

Status refuse_assembler_options(const AssemblerOptions& options, std::string_view device) {
  const char* knob = options.level                              ? "level"
                     : !options.options.empty()                 ? "options"
                     : options.max_registers                    ? "max_registers"
                     : options.load_cache != LoadCache::unset   ? "load_cache"
                     : options.store_cache != StoreCache::unset ? "store_cache"
                                                                : nullptr;
  if (!knob) return {};
  return error(Code::unsupported, "assembler.{} has no effect on {}, whose code is not made from PTX: leave it out", knob,
               device);
}

Status refuse_knobs(std::initializer_list<std::pair<const char*, bool>> knobs, std::string_view device) {
  for (auto [name, given] : knobs)
    if (given) return error(Code::unsupported, "{} has no effect on {}: leave it out there", name, device);
  return {};
}

}  // namespace mneme
