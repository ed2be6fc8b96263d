#include "mneme/compile/amdgpu/identity.h"

#include <llvm/Config/llvm-config.h>

namespace mneme::amdgpu {

Result<std::string> compiler_identity(const std::string& architecture) {
  return fmt::format("hip {} LLVM {}", architecture, LLVM_VERSION_STRING);
}

}  // namespace mneme::amdgpu
