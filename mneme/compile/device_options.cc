#include "mneme/compile/device_options.h"

#include "mneme/compile/backend.h"

namespace mneme {

Status check_device_options(const CompileOptions& options, DeviceKind kind) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  return backend ? backend->check_options(options) : Status();
}

}  // namespace mneme
