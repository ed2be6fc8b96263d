#include "mneme/device/cuda/cupti.h"

#include <cstdlib>

#include "mneme/base/code_folder.h"
#include "mneme/base/shared_library.h"

namespace mneme::cuda {

Status Cupti::check(CuptiResult result, const std::string& call) const {
  if (result == kCuptiSuccess) return {};
  const char* name = nullptr;
  if (get_result_string(result, &name) != kCuptiSuccess || name == nullptr)
    return error(Code::unavailable, "{}: CUPTI error {}", call, result);
  return error(Code::unavailable, "{}: {}{}", call, name,
               result == kCuptiMultipleSubscribers ? " (another profiler or debugger is attached)" : "");
}

std::vector<std::string> cupti_paths() {
  std::vector<Path> folders = {code_folder(), code_folder().parent_path() / "lib"};
  std::vector<Path> homes;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') homes.emplace_back(home);
  homes.emplace_back(MNEME_CUDA_HOME);
  homes.emplace_back("/usr/local/cuda");
  for (const Path& home : homes) folders.insert(folders.end(), {home / "extras/CUPTI/lib64", home / "lib64", home / "lib"});
  return library_paths(folders, {"libcupti.so.13", "libcupti.so.12"});
}

Result<Cupti> open_cupti(const std::vector<std::string>& paths) {
  Cupti cupti;
  const auto library =
      SharedLibrary::open_first(paths, {{"cuptiGetResultString", reinterpret_cast<void**>(&cupti.get_result_string)},
                                        {"cuptiSubscribe", reinterpret_cast<void**>(&cupti.subscribe)},
                                        {"cuptiUnsubscribe", reinterpret_cast<void**>(&cupti.unsubscribe)},
                                        {"cuptiEnableCallback", reinterpret_cast<void**>(&cupti.enable_callback)},
                                        {"cuptiActivityRegisterCallbacks", reinterpret_cast<void**>(&cupti.register_callbacks)},
                                        {"cuptiActivityEnable", reinterpret_cast<void**>(&cupti.activity_enable)},
                                        {"cuptiActivityFlushAll", reinterpret_cast<void**>(&cupti.flush_all)},
                                        {"cuptiActivityGetNextRecord", reinterpret_cast<void**>(&cupti.next_record)}});
  if (!library.ok())
    return error(Code::unavailable, "opening CUPTI: {}; install the CUDA toolkit's libcupti, or set CUDA_HOME to where it is",
                 library.status().message());
  cupti.library = library->name();
  return cupti;
}

}  // namespace mneme::cuda
