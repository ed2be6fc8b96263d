#include "mneme/compile/amdgpu/library_folders.h"

#include <algorithm>
#include <cstdlib>

#include "mneme/base/file_system.h"

namespace mneme::amdgpu {

std::vector<std::string> device_library_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, const char* below) {
    const char* value = std::getenv(variable);
    if (value && *value) folders.push_back(std::string(value) + below);
  };
  add("HIP_DEVICE_LIB_PATH", "");
  add("ROCM_PATH", "/amdgcn/bitcode");
  for (const char* folder : {"/opt/rocm/amdgcn/bitcode", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"})
    if (std::ranges::find(folders, folder) == folders.end()) folders.emplace_back(folder);
  return folders;
}

std::optional<std::string> find_device_libraries(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (FileSystem::posix().exists(folder + "/ocml.bc")) return folder;
  return std::nullopt;
}

}  // namespace mneme::amdgpu
