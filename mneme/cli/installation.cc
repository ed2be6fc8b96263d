#include "mneme/cli/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace mneme::cli {
namespace {

std::vector<Path> path_folders() {
  std::vector<Path> folders;
  const char* path = std::getenv("PATH");
  std::string text = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) folders.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

bool is_program(const Path& path) {
  std::error_code failure;
  return std::filesystem::is_regular_file(path, failure) && ::access(path.c_str(), X_OK) == 0;
}

bool is_toolkit(const Path& path) {
  FileSystem& files = FileSystem::posix();
  return files.exists(path / "include" / "cuda_runtime.h") && files.exists(path / "nvvm" / "libdevice" / "libdevice.10.bc");
}

}  // namespace

Result<Installation> Installation::at(const Path& command) {
  Installation installation;
  installation.command = command;
  installation.prefix = command.parent_path().parent_path();
  if (command.parent_path().filename() != "bin" || installation.prefix.empty()) {
    return error(Code::not_found, "finding Mneme's files from {}: the command is not in the folder bin of an installation",
                 command.string());
  }
  installation.libdir = installation.prefix / "lib";
  installation.includedir = installation.prefix / "include";
  installation.cmakedir = installation.libdir / "cmake" / "mneme";
  return installation;
}

Result<Installation> Installation::find() {
  std::error_code failure;
  const Path command = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return error(Code::io, "reading /proc/self/exe: {}", failure.message());
  return at(command);
}

Result<Path> find_cuda_toolkit() {
  std::vector<Path> candidates;
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) {
    if (is_toolkit(home)) return Path(home);
    return error(
        Code::not_found,
        "CUDA_HOME is {}, which is no CUDA toolkit (no include/cuda_runtime.h, or no nvvm/libdevice/libdevice.10.bc): set it "
        "to the folder of a CUDA 13 toolkit, or unset it",
        home);
  }
  candidates.emplace_back(MNEME_CUDA_HOME);
  candidates.emplace_back("/usr/local/cuda");
  std::string looked;
  for (const Path& candidate : candidates) {
    if (is_toolkit(candidate)) return candidate;
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  return error(Code::not_found,
               "finding the CUDA toolkit (headers and libdevice): none in {}; set CUDA_HOME to the folder of a CUDA 13 toolkit",
               looked);
}

Result<Path> find_clang(const std::string& name) {
  const std::string versioned = name + "-" + MNEME_CLANG_MAJOR;
  for (const Path& folder : path_folders()) {
    if (is_program(folder / versioned)) return folder / versioned;
  }
  const Path system = Path("/usr/lib/llvm-" MNEME_CLANG_MAJOR "/bin") / name;
  if (is_program(system)) return system;
  return error(Code::not_found,
               "finding {}: it is neither on the PATH nor at {}; the plugin fits clang " MNEME_CLANG_MAJOR
               " only: install the packages clang-" MNEME_CLANG_MAJOR " and clang-tools-" MNEME_CLANG_MAJOR,
               versioned, system.string());
}

}  // namespace mneme::cli
