#include "mneme/compile/nvptx/tool_library.h"

#include <dlfcn.h>

namespace mneme::nvptx {
namespace {

Result<std::string> open_one(const std::string& path, std::initializer_list<ToolFunction> functions) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, reason != nullptr ? reason : path);
  }
  for (auto [name, function] : functions) {
    *function = dlsym(handle, name);
    if (*function == nullptr) {
      dlclose(handle);
      return error(Code::unavailable, "{} has no function {}", path, name);
    }
  }
  Dl_info info;
  return std::string(dladdr(*functions.begin()->function, &info) != 0 && info.dli_fname ? info.dli_fname : path);
}

}  // namespace

Result<std::string> open_tool_library(const std::vector<std::string>& paths, std::initializer_list<ToolFunction> functions) {
  std::string reasons;
  for (const std::string& path : paths) {
    auto opened = open_one(path, functions);
    if (opened.ok()) return opened;
    reasons += (reasons.empty() ? "" : "; ") + opened.status().message();
  }
  return Status(Code::unavailable, reasons.empty() ? "no place to look in" : reasons);
}

}  // namespace mneme::nvptx
