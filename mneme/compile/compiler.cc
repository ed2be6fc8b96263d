#include "mneme/compile/compiler.h"

#include "mneme/compile/cpu/compiler.h"
#include "mneme/compile/nvptx/compiler.h"

namespace mneme {

Result<std::unique_ptr<Compiler>> Compiler::create(DeviceKind kind, const std::string& architecture) {
  switch (kind) {
    case DeviceKind::cuda: return nvptx::create_compiler(architecture);
    case DeviceKind::cpu: return cpu::create_compiler(architecture);
    case DeviceKind::hip:
    case DeviceKind::fake: break;
  }
  return error(Code::unsupported, "there is no compiler for device '{}' in this build", to_string(kind));
}

}  // namespace mneme
