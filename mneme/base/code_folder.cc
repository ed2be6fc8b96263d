#include "mneme/base/code_folder.h"

#include <dlfcn.h>

namespace mneme {

Path code_folder() {
  std::error_code failure;
  Dl_info info{};
  // Of a program the loader knows the name it was started by, which need not lead to it.
  if (dladdr(reinterpret_cast<void*>(&code_folder), &info) != 0 && info.dli_fname != nullptr) {
    const Path file = std::filesystem::canonical(info.dli_fname, failure);
    if (!failure) return file.parent_path();
  }
  return std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
}

}  // namespace mneme
