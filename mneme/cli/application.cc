#include "mneme/cli/application.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include "mneme/abi/driver_table.h"
#include "mneme/abi/segment.h"
#include "mneme/base/log.h"
#include "mneme/device/backend.h"
#include "mneme/runtime/recordable.h"

namespace mneme::cli {
namespace {

constexpr char kHowToBuild[] =
    "build it with `$(mneme config cxx) $(mneme config cxxflags) app.cu -o app $(mneme config ldflags)`, or in CMake with "
    "find_package(mneme) and add_mneme(app)";

std::vector<std::string> split(const char* text, char separator) {
  std::vector<std::string> parts;
  std::string all = text ? text : "";
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(separator, begin), all.size());
    parts.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_file(const Path& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<ObjectFile> read_object(const Path& path) {
  MNEME_ASSIGN(auto file, FileSystem::posix().read(path));
  return read_object_file(file, path.string());
}

// Libraries of the system hold no kernels: only the folders that the program or its user name are searched.
std::optional<Path> find_library(const std::string& name, const Path& user, const ObjectFile& object) {
  std::vector<std::string> folders = object.run_path;
  for (std::string& folder : split(std::getenv("LD_LIBRARY_PATH"), ':')) folders.push_back(std::move(folder));
  if (name.find('/') != std::string::npos) return is_file(name) ? std::optional<Path>(name) : std::nullopt;
  for (std::string folder : folders) {
    for (const char* origin : {"$ORIGIN", "${ORIGIN}"})
      if (size_t at = folder.find(origin); at != std::string::npos)
        folder.replace(at, std::strlen(origin), user.parent_path().string());
    if (is_file(Path(folder) / name)) return Path(folder) / name;
  }
  return std::nullopt;
}

// What a program is linked from: itself and, each once, the libraries that it needs.
struct LinkedObject {
  Path path;
  ObjectFile file;
};
std::vector<LinkedObject> linked_objects(const Path& program, ObjectFile file) {
  std::vector<LinkedObject> objects{{program, std::move(file)}};
  std::set<std::string> seen;
  for (size_t i = 0; i < objects.size(); ++i) {
    for (const std::string& name : std::vector<std::string>(objects[i].file.needed)) {
      if (!seen.insert(name).second) continue;
      std::optional<Path> path = find_library(name, objects[i].path, objects[i].file);
      if (!path) continue;
      if (Result<ObjectFile> library = read_object(*path); library.ok()) objects.push_back({*path, std::move(*library)});
    }
  }
  return objects;
}

bool uses_cuda(const ObjectFile& file) {
  if (file.device_code) return true;
  return std::any_of(file.needed.begin(), file.needed.end(),
                     [](const std::string& name) { return name.starts_with("libcudart.so"); });
}

// What the plugin puts into device code, which is not compressed.
bool holds_segments(const Path& path) {
  auto file = FileSystem::posix().read(path);
  if (!file.ok()) return false;
  std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  return text.find(MNEME_SEGMENT_PREFIX) != std::string_view::npos;
}

}  // namespace

Result<Path> find_program(const std::string& name) {
  std::vector<std::string> folders =
      name.find('/') != std::string::npos ? std::vector<std::string>{""} : split(std::getenv("PATH"), ':');
  for (const std::string& folder : folders) {
    Path path = folder.empty() ? Path(name) : Path(folder) / name;
    if (!is_file(path)) continue;
    if (::access(path.c_str(), X_OK) == 0) return path;
    if (folder.empty()) return error(Code::invalid_argument, "running {}: it is not executable (chmod +x {})", name, name);
  }
  if (name.find('/') == std::string::npos) {
    return error(Code::not_found, "running {}: there is no such program on the PATH{}", name,
                 is_file(name) ? fmt::format("; did you mean ./{}?", name) : std::string());
  }
  struct stat info;
  if (::stat(name.c_str(), &info) == 0) return error(Code::invalid_argument, "running {}: it is not a file", name);
  return error(Code::not_found, "running {}: {}", name, std::strerror(errno));
}

namespace {

struct Inspected {
  bool is_program = false;  // an ELF file; a script is none, and what it starts is not known
  bool recordable = false, cuda = false, has_segments = false;
  const RuntimeCalls* calls = nullptr;  // that the first recordable object calls
  bool loaded_dynamically = true;
};

Result<Inspected> inspect(const Path& program) {
  Inspected found;
  Result<ObjectFile> file = read_object(program);
  if (file.status().code() == Code::invalid_argument) return found;
  if (!file.ok()) return file.status();
  found.is_program = true;
  found.loaded_dynamically = file->loaded_dynamically;
  for (const LinkedObject& object : linked_objects(program, std::move(*file))) {
    found.cuda = found.cuda || uses_cuda(object.file);
    found.has_segments =
        found.has_segments || (object.file.device_code && !object.file.recordable && holds_segments(object.path));
    if (object.file.dropped_device_code) {
      return error(Code::invalid_argument,
                   "{} was linked without its device code: with -fgpu-rdc the linker step needs --offload-link too",
                   object.path.string());
    }
    if (!object.file.recordable) continue;
    MNEME_TRY(check_note(object.file.note, object.path.string(), *object.file.calls));
    found.recordable = true;
    if (!found.calls) found.calls = object.file.calls;
  }
  return found;
}

// The loader preloads nothing into a program that is static, or that runs with other rights than its user's.
Status check_preloadable(const Path& program, const Inspected& found) {
  if (!found.loaded_dynamically)
    return error(Code::invalid_argument,
                 "{} is linked statically, so that nothing can stand before its calls of the CUDA driver: {}", program.string(),
                 kHowToBuild);
  struct stat info;
  if (::stat(program.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0)
    return error(Code::invalid_argument,
                 "{} runs with the rights of its owner (setuid), where the dynamic loader preloads no library: run a copy of it",
                 program.string());
  return {};
}

}  // namespace

Result<std::string_view> runtime_of_program(const Path& program) {
  MNEME_ASSIGN(const Inspected found, inspect(program));
  return found.calls ? found.calls->name : std::string_view();
}

Status check_recordable(const Path& program) {
  MNEME_ASSIGN(const Inspected found, inspect(program));
  if (!found.is_program || found.recordable) return {};
  if (found.has_segments)
    return error(Code::invalid_argument,
                 "{} was compiled for Mneme but not linked for it: link it with `mneme config ldflags` behind its objects",
                 program.string());
  if (found.cuda)
    return error(Code::invalid_argument, "{} uses CUDA but was not built for Mneme: {}", program.string(), kHowToBuild);
  log::warning(
      "{} holds no recordable code itself; programs that it starts, and shared libraries that it loads while it runs, may",
      program.string());
  return {};
}

Result<Front> choose_front(const Path& program, DeviceKind device, std::optional<Front> wanted, Front of_rebuilt) {
  if (wanted == Front::linked || backend_of(device).driver.empty()) {
    if (wanted == Front::driver)
      return error(Code::invalid_argument, "--front driver: on the {} device there is no CUDA driver to record at",
                   to_string(device));
    MNEME_TRY(check_recordable(program));
    return Front::linked;
  }
  MNEME_ASSIGN(const Inspected found, inspect(program));
  const Status preloadable = check_preloadable(program, found);
  if (found.recordable && !wanted) return preloadable.ok() ? of_rebuilt : Front::linked;
  MNEME_TRY(preloadable);
  return Front::driver;
}

std::vector<std::pair<std::string, std::string>> driver_environment(const Path& preload, const Path& recorder) {
  const char* others = std::getenv("LD_PRELOAD");
  std::string libraries = preload.string();
  if (others && *others) libraries += std::string(":") + others;
  return {{"LD_PRELOAD", libraries}, {MNEME_ENV_DRIVER_INTERPOSER, recorder.string()}};
}

Status exec_application(const Path& program, const std::vector<std::string>& arguments,
                        const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return error(Code::io, "running {}: {}", program.string(), std::strerror(errno));
}

}  // namespace mneme::cli
