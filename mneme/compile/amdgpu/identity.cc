#include "mneme/compile/amdgpu/identity.h"

#include <llvm/Config/llvm-config.h>

#include "mneme/compile/amdgpu/compiler.h"
#include "mneme/compile/amdgpu/library_folders.h"
#include "mneme/compile/compile_key.h"

namespace mneme::amdgpu {

std::string compiler_identity(const std::string& architecture, const std::vector<std::string>& library_folders) {
  std::string text = fmt::format("hip {} LLVM {}", architecture, LLVM_VERSION_STRING);
  if (const auto folder = find_device_libraries(library_folders))
    for (const char* library : kDeviceLibraries) text += " " + describe_file(*folder + "/" + library);
  return text;
}

Result<CompilerPlan> plan_compiler(const std::string& architecture) {
  const std::vector<std::string> folders = device_library_folders();
  return CompilerPlan{compiler_identity(architecture, folders),
                      [architecture, folders] { return create_compiler(architecture, folders); }};
}

}  // namespace mneme::amdgpu
