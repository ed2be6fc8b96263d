#include "mneme/base/shared_library.h"

#include <link.h>

namespace mneme {

Result<SharedLibrary> SharedLibrary::open(const std::string& name, int flags) {
  if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | flags)) return SharedLibrary(name, handle);
  const char* const reason = ::dlerror();
  return Status(Code::unavailable, reason != nullptr ? reason : name);
}

Result<SharedLibrary> SharedLibrary::open_first(std::span<const std::string> names,
                                                std::initializer_list<LibraryFunction> functions, int flags) {
  std::string reasons;
  for (const std::string& name : names) {
    auto library = open(name, flags);
    const Status status = library.ok() ? library->find_all(functions) : library.status();
    if (status.ok()) return library;
    reasons += (reasons.empty() ? "" : "; ") + status.message();
  }
  return Status(Code::unavailable, reasons.empty() ? "no place to look in" : reasons);
}

std::string SharedLibrary::file() const {
  const link_map* map = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name_;
}

Status SharedLibrary::find_all(std::initializer_list<LibraryFunction> functions) const {
  for (auto [name, function] : functions) {
    *function = find(name);
    if (*function == nullptr) return error(Code::unavailable, "{} has no function {}", name_, name);
  }
  return {};
}

std::vector<std::string> library_paths(std::span<const Path> folders, std::initializer_list<const char*> names) {
  std::vector<std::string> paths;
  for (const Path& folder : folders) {
    std::error_code ignored;
    for (const char* name : names)
      if (std::filesystem::exists(folder / name, ignored)) paths.push_back(folder / name);
  }
  paths.insert(paths.end(), names.begin(), names.end());
  return paths;
}

}  // namespace mneme
