#include "mneme/compile/amdgpu/library_folders.h"

#include <algorithm>
#include <cstdlib>

#include "mneme/base/file_system.h"

namespace mneme::amdgpu {
namespace {

bool has_libraries(const std::string& folder) { return FileSystem::posix().exists(folder + "/ocml.bc"); }

}  // namespace

std::string device_library_folder(const std::string& rocm_home) {
  // Of AMD's packages before ROCm 7 and since, and of Debian's (cmake/MnemeRocm.cmake has them too).
  constexpr std::array kBelow = {"/amdgcn/bitcode", "/lib/llvm/amdgcn/bitcode", "/lib/amdgcn/bitcode",
                                 "/lib/x86_64-linux-gnu/amdgcn/bitcode"};
  const auto found = std::ranges::find_if(kBelow, [&](const char* below) { return has_libraries(rocm_home + below); });
  return rocm_home + (found == kBelow.end() ? kBelow.front() : *found);
}

std::vector<std::string> device_library_folders() {
  std::vector<std::string> folders;
  const auto value_of = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value ? value : "");
  };
  if (const std::string folder = value_of("HIP_DEVICE_LIB_PATH"); !folder.empty()) folders.push_back(folder);
  if (const std::string home = value_of("ROCM_PATH"); !home.empty()) folders.push_back(device_library_folder(home));
  for (const std::string& folder : {device_library_folder("/opt/rocm"), std::string("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")})
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  return folders;
}

std::optional<std::string> find_device_libraries(const std::vector<std::string>& folders) {
  const auto found = std::ranges::find_if(folders, has_libraries);
  return found == folders.end() ? std::nullopt : std::optional(*found);
}

}  // namespace mneme::amdgpu
