#include "mneme/compile/amdgpu/identity.h"

#include <llvm/Config/llvm-config.h>

#include "mneme/compile/amdgpu/compiler.h"

namespace mneme::amdgpu {

std::string compiler_identity(const std::string& architecture) {
  return fmt::format("hip {} LLVM {}", architecture, LLVM_VERSION_STRING);
}

Result<CompilerPlan> plan_compiler(const std::string& architecture) {
  return CompilerPlan{compiler_identity(architecture), [architecture] { return create_compiler(architecture); }};
}

}  // namespace mneme::amdgpu
