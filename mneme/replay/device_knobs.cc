#include "mneme/replay/device_knobs.h"

#include "mneme/compile/device_options.h"

namespace mneme {

Status check_knobs(const Configuration& configuration, DeviceKind kind) {
  MNEME_TRY(check_device_options({.codegen = configuration.codegen,
                                  .assembler = configuration.assembler,
                                  .specialisation = {.bounds = configuration.specialise.bounds}},
                                 kind));
  // What a GPU has only the GPU knows.
  DeviceProperties least;
  least.kind = kind;
  return kind == DeviceKind::cpu ? check_execution(configuration.execution, least) : Status();
}

}  // namespace mneme
