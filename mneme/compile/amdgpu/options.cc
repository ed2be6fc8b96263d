#include "mneme/compile/amdgpu/options.h"

#include "mneme/compile/amdgpu/codegen_target.h"
#include "mneme/compile/device_options.h"

namespace mneme::amdgpu {

Status check_options(const CompileOptions& options) {
  constexpr char kDevice[] = "AMD GPUs";
  MNEME_TRY(refuse_assembler_options(options.assembler, kDevice));
  if (const auto version = options.codegen.code_object; version && !is_code_object_version(*version))
    return error(Code::invalid_argument, "codegen.code_object is {}: code objects are made of version 5 or 6", *version);
  const LaunchBounds& bounds = options.specialisation.bounds;
  return refuse_knobs(
      {{"specialise.min_blocks", bounds.min_blocks.has_value()}, {"specialise.max_cluster", bounds.max_cluster.has_value()}},
      kDevice);
}

}  // namespace mneme::amdgpu
