#include "mneme/replay/device_knobs.h"

#include "mneme/compile/device_options.h"
#include "mneme/device/backend.h"

namespace mneme {

Status check_knobs(const Configuration& configuration, DeviceKind kind) {
  MNEME_TRY(check_device_options({.codegen = configuration.codegen,
                                  .assembler = configuration.assembler,
                                  .specialisation = {.bounds = configuration.specialise.bounds}},
                                 kind));
  if (backend_of(kind).hardware == Hardware::own) return {};  // what it has only the open device knows
  DeviceProperties of_any;
  of_any.kind = kind;
  return check_execution(configuration.execution, of_any);
}

}  // namespace mneme
