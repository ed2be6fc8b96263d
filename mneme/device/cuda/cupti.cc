#include "mneme/device/cuda/cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "mneme/base/code_folder.h"

namespace mneme::cuda {
namespace {

namespace fs = std::filesystem;

Result<Cupti> load(const std::string& path) {
  // Never closed: it keeps a thread and its callbacks.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, reason != nullptr ? reason : path);
  }
  Cupti cupti;
  cupti.library = path;
  struct {
    const char* name;
    void** function;
  } functions[] = {
      {"cuptiGetResultString", reinterpret_cast<void**>(&cupti.get_result_string)},
      {"cuptiSubscribe", reinterpret_cast<void**>(&cupti.subscribe)},
      {"cuptiUnsubscribe", reinterpret_cast<void**>(&cupti.unsubscribe)},
      {"cuptiEnableCallback", reinterpret_cast<void**>(&cupti.enable_callback)},
      {"cuptiActivityRegisterCallbacks", reinterpret_cast<void**>(&cupti.register_callbacks)},
      {"cuptiActivityEnable", reinterpret_cast<void**>(&cupti.activity_enable)},
      {"cuptiActivityFlushAll", reinterpret_cast<void**>(&cupti.flush_all)},
      {"cuptiActivityGetNextRecord", reinterpret_cast<void**>(&cupti.next_record)},
  };
  for (auto [name, function] : functions) {
    *function = dlsym(handle, name);
    if (*function == nullptr) return error(Code::unavailable, "{} has no function {}", path, name);
  }
  return cupti;
}

}  // namespace

Status Cupti::check(CuptiResult result, const std::string& call) const {
  if (result == kCuptiSuccess) return {};
  const char* name = nullptr;
  if (get_result_string(result, &name) != kCuptiSuccess || name == nullptr)
    return error(Code::unavailable, "{}: CUPTI error {}", call, result);
  return error(Code::unavailable, "{}: {}{}", call, name,
               result == kCuptiMultipleSubscribers ? " (another profiler or debugger is attached)" : "");
}

std::vector<std::string> cupti_paths() {
  constexpr const char* kLibraries[] = {"libcupti.so.13", "libcupti.so.12"};
  std::vector<fs::path> folders = {code_folder(), code_folder().parent_path() / "lib"};
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') homes.emplace_back(home);
  homes.emplace_back(MNEME_CUDA_HOME);
  homes.emplace_back("/usr/local/cuda");
  for (const fs::path& home : homes) folders.insert(folders.end(), {home / "extras/CUPTI/lib64", home / "lib64", home / "lib"});
  std::vector<std::string> paths;
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    for (const char* library : kLibraries)
      if (fs::exists(folder / library, ignored)) paths.push_back(folder / library);
  }
  for (const char* library : kLibraries) paths.emplace_back(library);
  return paths;
}

Result<Cupti> open_cupti(const std::vector<std::string>& paths) {
  std::string reasons;
  for (const std::string& path : paths) {
    auto library = load(path);
    if (library.ok()) return library;
    reasons += (reasons.empty() ? "" : "; ") + library.status().message();
  }
  return error(Code::unavailable, "opening CUPTI: {}; install the CUDA toolkit's libcupti, or set CUDA_HOME to where it is",
               reasons.empty() ? "no place to look in" : reasons);
}

}  // namespace mneme::cuda
