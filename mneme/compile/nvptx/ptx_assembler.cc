#include "mneme/compile/nvptx/ptx_assembler.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "mneme/base/code_folder.h"
#include "mneme/compile/nvptx/nvjitlink.h"
#include "mneme/compile/nvptx/nvptxcompiler.h"
#include "mneme/compile/nvptx/ptxas.h"

namespace mneme::nvptx {
namespace {

namespace fs = std::filesystem;

Status refused(const char* knob, const char* what) {
  return error(Code::unsupported,
               "assembler.{}: the driver's own assembler takes {}: leave it out, or let another assemble (MNEME_PTX_ASSEMBLER: "
               "nvptxcompiler, nvjitlink or ptxas)",
               knob, what);
}

// Leaves the work to the driver, which compiles PTX when it loads it.
class DriverAssembler final : public PtxAssembler {
 public:
  std::string_view name() const override { return "driver"; }
  std::string identity() const override { return "driver"; }

  Result<Assembled> assemble(const AssembleRequest& request) override {
    const AssemblerOptions& options = request.options;
    if (!options.options.empty()) return refused("options", "no options as text");
    if (options.store_cache != StoreCache::unset) return refused("store_cache", "no cache operator for stores");
    Assembled assembled;
    assembled.image.device = DeviceKind::cuda;
    JitOptions& jit = assembled.image.jit;
    switch (options.load_cache) {
      case LoadCache::unset: break;
      case LoadCache::ca: jit.load_cache = JitOptions::LoadCache::ca; break;
      case LoadCache::cg: jit.load_cache = JitOptions::LoadCache::cg; break;
      default: return refused("load_cache", "ca and cg alone");
    }
    jit.level = options.level;
    jit.max_registers = options.max_registers;
    auto bytes = std::as_bytes(std::span(request.ptx.c_str(), request.ptx.size() + 1));
    assembled.image.bytes.assign(bytes.begin(), bytes.end());
    return assembled;
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

void add_once(std::vector<std::string>& paths, const fs::path& path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

template <typename T, size_t N>
const char* name_of(T value, const std::pair<const char*, T> (&names)[N]) {
  for (const auto& [name, meaning] : names)
    if (meaning == value) return name;
  return "";
}

}  // namespace

std::vector<std::string> cache_arguments(const AssemblerOptions& options) {
  std::vector<std::string> arguments;
  if (options.load_cache != LoadCache::unset)
    arguments.push_back(fmt::format("-dlcm={}", name_of(options.load_cache, kLoadCacheNames)));
  if (options.store_cache != StoreCache::unset)
    arguments.push_back(fmt::format("-dscm={}", name_of(options.store_cache, kStoreCacheNames)));
  return arguments;
}

std::vector<std::string> ptxas_arguments(const AssembleRequest& request) {
  const AssemblerOptions& options = request.options;
  std::vector<std::string> arguments = {"-arch=" + request.architecture, fmt::format("-O{}", options.level.value_or(3)), "-v"};
  if (request.lines == LineInfo::keep) arguments.push_back("-lineinfo");
  if (options.max_registers) arguments.push_back(fmt::format("-maxrregcount={}", *options.max_registers));
  for (std::string& argument : cache_arguments(options)) arguments.push_back(std::move(argument));
  arguments.insert(arguments.end(), options.options.begin(), options.options.end());
  return arguments;
}

AssemblerSearch AssemblerSearch::from_environment() {
  AssemblerSearch search;
  if (const char* only = std::getenv("MNEME_PTX_ASSEMBLER")) search.only = only;

  constexpr const char* kLibraries[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
  const fs::path prefix = code_folder().parent_path();
  add_once(search.nvptxcompiler_paths, prefix / "lib" / "libmneme_nvptxcompiler.so");

  std::vector<fs::path> folders = {prefix / "lib"};
  for (const fs::path& home : toolkits()) folders.insert(folders.end(), {home / "lib64", home / "lib"});
  for (const fs::path& folder : folders) {
    for (const char* library : kLibraries) add_once(search.nvjitlink_paths, folder / library);
  }
  for (const char* library : kLibraries) search.nvjitlink_paths.push_back(library);

  add_once(search.ptxas_paths, prefix / "bin" / "ptxas");
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
  if (!only.empty() && only != "nvptxcompiler" && only != "nvjitlink" && only != "ptxas" && only != "driver") {
    return error(Code::invalid_argument,
                 "choosing the PTX assembler: MNEME_PTX_ASSEMBLER is '{}', not nvptxcompiler, nvjitlink, ptxas or driver", only);
  }
  if (only.empty() || only == "nvptxcompiler") {
    auto found = open_nvptxcompiler(search.nvptxcompiler_paths);
    if (found.ok() || only == "nvptxcompiler") return found;
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
