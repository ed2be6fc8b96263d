#include "mneme/cli/compiler_caches.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

namespace mneme::cli {
namespace {

namespace fs = std::filesystem;

// Empty where the variable is not set or empty, which the compilers take for the same.
std::string value_of(const EnvironmentVariable& variable, const char* name) {
  const char* value = variable(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string first_of(const EnvironmentVariable& variable, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::string value = value_of(variable, name); !value.empty()) return value;
  return {};
}

// As Python's getpass.getuser() names the user, with what is no part of a folder's name replaced.
std::string user_in_a_path(const EnvironmentVariable& variable) {
  std::string user = first_of(variable, {"LOGNAME", "USER", "LNAME", "USERNAME"});
  if (const ::passwd* entry = user.empty() ? ::getpwuid(::getuid()) : nullptr; entry != nullptr) user = entry->pw_name;
  std::replace_if(
      user.begin(), user.end(), [](char c) { return std::string_view("\\/:*?\"<>|").find(c) != std::string_view::npos; }, '_');
  return user;
}

}  // namespace

std::vector<Path> compiler_cache_folders(const EnvironmentVariable& variable) {
  std::vector<Path> folders;
  if (const std::string triton = value_of(variable, "TRITON_CACHE_DIR"); !triton.empty())
    folders.emplace_back(triton);
  else if (const std::string home = first_of(variable, {"TRITON_HOME", "HOME"}); !home.empty())
    folders.push_back(Path(home) / ".triton" / "cache");
  Path inductor = value_of(variable, "TORCHINDUCTOR_CACHE_DIR");
  if (inductor.empty()) {
    const std::string temporary = first_of(variable, {"TMPDIR", "TEMP", "TMP"});
    inductor = Path(temporary.empty() ? "/tmp" : temporary) / ("torchinductor_" + user_in_a_path(variable));
  }
  folders.push_back(inductor / "triton");
  return folders;
}

void CompilerCaches::look_through(const Path& folder) {
  std::error_code failure;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, failure);
  std::vector<std::pair<Path, uint64_t>> found;
  for (; !failure && entries != fs::recursive_directory_iterator(); entries.increment(failure)) {
    std::error_code unreadable;
    if (entries->path().extension() != ".cubin" || !entries->is_regular_file(unreadable)) continue;
    if (const uint64_t size = entries->file_size(unreadable); !unreadable) found.emplace_back(entries->path(), size);
  }
  std::sort(found.begin(), found.end());
  for (auto& [path, size] : found) (*cubins_)[size].push_back(std::move(path));
}

std::vector<Path> CompilerCaches::find(const CodeImageRecord& cubin) {
  if (!cubins_) {
    cubins_.emplace();
    for (const Path& folder : folders_) look_through(folder);
  }
  std::vector<Path> same;
  const auto candidates = cubins_->find(cubin.size.count);
  if (candidates == cubins_->end()) return same;
  for (const Path& path : candidates->second) {
    const auto bytes = FileSystem::posix().read(path);
    if (bytes.ok() && digest_of(*bytes) == cubin.digest) same.push_back(path);
  }
  return same;
}

}  // namespace mneme::cli
