#include "mneme/device/hip/rocprofiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace mneme::hip {
namespace {

namespace fs = std::filesystem;

Result<Rocprofiler> load(const std::string& path) {
  // Never closed: it keeps threads and callbacks. Its symbols are global, since ROCm's runtimes look for them by name.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, reason != nullptr ? reason : path);
  }
  Rocprofiler rocprofiler;
  rocprofiler.library = path;
  struct {
    const char* name;
    void** function;
  } functions[] = {
#define MNEME_ROCPROFILER_ROW(name, ...) {"rocprofiler_" #name, reinterpret_cast<void**>(&rocprofiler.name)},
      MNEME_ROCPROFILER_FUNCTIONS(MNEME_ROCPROFILER_ROW)
#undef MNEME_ROCPROFILER_ROW
          {"rocprofiler_get_status_name", reinterpret_cast<void**>(&rocprofiler.get_status_name)},
  };
  for (auto [name, function] : functions) {
    *function = dlsym(handle, name);
    if (*function == nullptr) return error(Code::unavailable, "{} has no function {}", path, name);
  }
  return rocprofiler;
}

}  // namespace

std::string Rocprofiler::name_of(RocprofilerStatus status) const {
  const char* name = get_status_name(status);
  return name != nullptr ? name : fmt::format("error {}", status);
}

Status Rocprofiler::check(RocprofilerStatus status, const std::string& call) const {
  if (status == kRocprofilerSuccess) return {};
  return error(Code::unavailable, "rocprofiler_{}: {}", call, name_of(status));
}

std::vector<std::string> rocprofiler_paths() {
  constexpr const char* kLibraries[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("ROCM_PATH"); home != nullptr && *home != '\0') homes.emplace_back(home);
  homes.emplace_back("/opt/rocm");
  std::vector<std::string> paths;
  for (const fs::path& home : homes) {
    std::error_code ignored;
    for (const char* library : kLibraries)
      if (fs::exists(home / "lib" / library, ignored)) paths.push_back(home / "lib" / library);
  }
  for (const char* library : kLibraries) paths.emplace_back(library);
  return paths;
}

Result<Rocprofiler> open_rocprofiler(std::span<const std::string> paths) {
  std::string reasons;
  for (const std::string& path : paths) {
    auto library = load(path);
    if (library.ok()) return library;
    reasons += (reasons.empty() ? "" : "; ") + library.status().message();
  }
  return error(Code::unavailable, "opening rocprofiler-sdk: {}; install ROCm's rocprofiler-sdk, or set ROCM_PATH to where it is",
               reasons.empty() ? "no place to look in" : reasons);
}

}  // namespace mneme::hip
