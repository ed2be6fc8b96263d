#include "mneme/device/hip/rocprofiler.h"

#include <cstdlib>

#include "mneme/base/shared_library.h"

namespace mneme::hip {

std::string Rocprofiler::name_of(RocprofilerStatus status) const {
  const char* name = get_status_name(status);
  return name != nullptr ? name : fmt::format("error {}", status);
}

Status Rocprofiler::check(RocprofilerStatus status, const std::string& call) const {
  if (status == kRocprofilerSuccess) return {};
  return error(Code::unavailable, "rocprofiler_{}: {}", call, name_of(status));
}

std::vector<std::string> rocprofiler_paths() {
  std::vector<Path> folders;
  if (const char* home = std::getenv("ROCM_PATH"); home != nullptr && *home != '\0') folders.push_back(Path(home) / "lib");
  folders.emplace_back("/opt/rocm/lib");
  return library_paths(folders, {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"});
}

Result<Rocprofiler> open_rocprofiler(std::span<const std::string> paths) {
  Rocprofiler rocprofiler;
#define MNEME_ROCPROFILER_ROW(name, ...) {"rocprofiler_" #name, reinterpret_cast<void**>(&rocprofiler.name)},
  // Its symbols are global, since ROCm's runtimes look for them by name.
  const auto library =
      SharedLibrary::open_first(paths,
                                {MNEME_ROCPROFILER_FUNCTIONS(MNEME_ROCPROFILER_ROW){
                                    "rocprofiler_get_status_name", reinterpret_cast<void**>(&rocprofiler.get_status_name)}},
                                RTLD_GLOBAL);
#undef MNEME_ROCPROFILER_ROW
  if (!library.ok())
    return error(Code::unavailable,
                 "opening rocprofiler-sdk: {}; install ROCm's rocprofiler-sdk, or set ROCM_PATH to where it is",
                 library.status().message());
  rocprofiler.library = library->name();
  return rocprofiler;
}

}  // namespace mneme::hip
