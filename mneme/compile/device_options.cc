#include "mneme/compile/device_options.h"

#include "mneme/compile/cpu/options.h"

namespace mneme {

Status check_device_options(const CompileOptions& options, DeviceKind kind) {
  return kind == DeviceKind::cpu ? cpu::check_options(options) : Status();
}

}  // namespace mneme
