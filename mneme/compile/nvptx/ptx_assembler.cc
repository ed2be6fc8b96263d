#include "mneme/compile/nvptx/ptx_assembler.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "mneme/compile/nvptx/nvjitlink.h"
#include "mneme/compile/nvptx/ptxas.h"

namespace mneme::nvptx {
namespace {

namespace fs = std::filesystem;

// Leaves the work to the driver, which compiles PTX when it loads it.
class DriverAssembler final : public PtxAssembler {
 public:
  std::string_view name() const override { return "driver"; }
  Result<ByteVector> assemble(const AssembleRequest& request) override {
    auto bytes = std::as_bytes(std::span(request.ptx.c_str(), request.ptx.size() + 1));
    return ByteVector(bytes.begin(), bytes.end());
  }
};

// Toolkits, the likeliest first.
std::vector<fs::path> toolkits() {
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') homes.emplace_back(home);
  homes.emplace_back(MNEME_CUDA_HOME);
  homes.emplace_back("/usr/local/cuda");
  return homes;
}

fs::path executable_directory() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

void add_once(std::vector<std::string>& paths, const fs::path& path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

}  // namespace

AssemblerSearch AssemblerSearch::from_environment() {
  AssemblerSearch search;
  if (const char* only = std::getenv("MNEME_PTX_ASSEMBLER")) search.only = only;

  constexpr const char* kLibraries[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
  std::vector<fs::path> folders = {executable_directory().parent_path() / "lib"};
  for (const fs::path& home : toolkits()) folders.insert(folders.end(), {home / "lib64", home / "lib"});
  for (const fs::path& folder : folders) {
    for (const char* library : kLibraries) add_once(search.nvjitlink_paths, folder / library);
  }
  for (const char* library : kLibraries) search.nvjitlink_paths.push_back(library);

  add_once(search.ptxas_paths, executable_directory() / "ptxas");
  for (const fs::path& home : toolkits()) add_once(search.ptxas_paths, home / "bin" / "ptxas");
  std::string_view path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  while (!path.empty()) {
    std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    if (!folder.empty()) add_once(search.ptxas_paths, fs::path(folder) / "ptxas");
  }
  return search;
}

Result<std::unique_ptr<PtxAssembler>> find_assembler(const AssemblerSearch& search) {
  const std::string& only = search.only;
  if (!only.empty() && only != "nvjitlink" && only != "ptxas" && only != "driver") {
    return error(Code::invalid_argument,
                 "choosing the PTX assembler: MNEME_PTX_ASSEMBLER is '{}', not nvjitlink, ptxas or driver", only);
  }
  if (only.empty() || only == "nvjitlink") {
    auto found = open_nvjitlink(search.nvjitlink_paths);
    if (found.ok() || only == "nvjitlink") return found;
  }
  if (only.empty() || only == "ptxas") {
    auto found = open_ptxas(search.ptxas_paths);
    if (found.ok() || only == "ptxas") return found;
  }
  return std::unique_ptr<PtxAssembler>(new DriverAssembler);
}

}  // namespace mneme::nvptx
