#include "mneme/compile/plugin_file.h"

#include <vector>

#include "mneme/base/suggestion.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> beside(const fs::path& missing) {
  std::vector<std::string> names;
  std::error_code failure;
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : ".";
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    names.push_back(entry->path().filename().string());
  return names;
}

}  // namespace

Result<fs::path> find_plugin_file(const std::string& path) {
  std::error_code failure;
  fs::path file = fs::canonical(path, failure);
  if (failure || !fs::is_regular_file(file, failure))
    return error(Code::not_found, "loading the pass plugin {}: there is no such file{}", path,
                 did_you_mean(fs::path(path).filename().string(), beside(path)));
  return file;
}

}  // namespace mneme
