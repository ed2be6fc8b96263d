#include "mneme/cli/hip_build_flags.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "mneme/compile/amdgpu/library_folders.h"
#include "mneme/runtime/runtime_calls.h"

namespace mneme::cli {
namespace {

constexpr std::string_view kInstall = "install the packages libamdhip64-dev and rocm-device-libs, or set ROCM_PATH";

constexpr std::string_view kInstallForNvidia =
    "install the package libamdhip64-dev, or hip-dev and hip-runtime-nvidia of ROCm's own, or set ROCM_PATH";
constexpr std::string_view kNvidiaHeader = "include/hip/nvidia_detail/nvidia_hip_runtime.h";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_hip_architecture(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  std::string_view processor = parts.front();
  if (!processor.starts_with("gfx")) return false;
  processor.remove_prefix(3);
  const auto in_name = [](unsigned char c) { return std::isdigit(c) || std::islower(c) || c == '-'; };
  if (processor.size() < 3 || !std::isdigit(static_cast<unsigned char>(processor[0])) || !std::ranges::all_of(processor, in_name))
    return false;
  return std::all_of(parts.begin() + 1, parts.end(), [](std::string_view feature) {
    const std::string_view name = feature.substr(0, feature.empty() ? 0 : feature.size() - 1);
    return (name == "xnack" || name == "sramecc") && (feature.back() == '+' || feature.back() == '-');
  });
}

// In Debian's layout libraries lie in a folder of the machine.
std::optional<Rocm> rocm_at(const Path& home) {
  FileSystem& files = FileSystem::posix();
  Rocm rocm{.home = home, .library = {}, .device_libraries = amdgpu::device_library_folder(home)};
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu"})
    if (files.exists(home / folder / "libamdhip64.so")) rocm.library = home / folder / "libamdhip64.so";
  const bool whole = files.exists(home / "include/hip/hip_runtime.h") && !rocm.library.empty() &&
                     files.exists(rocm.device_libraries / "ocml.bc");
  return whole ? std::optional(rocm) : std::nullopt;
}

// clang makes code objects of version 6 by default, for which libraries before ROCm 6 have no constants.
std::string code_object_version(const Rocm& rocm) {
  const bool newest = FileSystem::posix().exists(rocm.device_libraries / "oclc_abi_version_600.bc");
  return newest ? "-mcode-object-version=6" : "-mcode-object-version=5";
}

// clang looks in /usr/include itself, behind the headers of C++, where it must stay. In the folder of another ROCm it looks
// behind that, where headers of Debian's would be found first.
void add_headers(std::vector<std::string>& flags, const Path& home) {
  std::error_code ignored;  // a folder that is not there is another
  if (!std::filesystem::equivalent(home / "include", "/usr/include", ignored))
    flags.push_back("-isystem" + (home / "include").string());
}

std::vector<std::string> rocm_flags(const Rocm& rocm) {
  return {"--rocm-path=" + rocm.home.string(), "--rocm-device-lib-path=" + rocm.device_libraries.string(),
          code_object_version(rocm)};
}

}  // namespace

Result<Rocm> find_rocm() {
  if (hip_runtime_calls().call_count == 0)
    return error(Code::unsupported, "this Mneme was built without HIP: {}, and build it again", kInstall);
  if (const char* home = std::getenv("ROCM_PATH"); home && *home) {
    if (auto rocm = rocm_at(home)) return *rocm;
    return error(
        Code::not_found,
        "ROCM_PATH is {}, which is no ROCm (no include/hip/hip_runtime.h, no libamdhip64.so, or no amdgcn/bitcode/ocml.bc): set "
        "it to the folder of one, or unset it",
        home);
  }
  std::string looked;
  for (const char* candidate : {MNEME_ROCM_HOME, "/opt/rocm", "/usr"}) {
    if (auto rocm = rocm_at(candidate)) return *rocm;
    looked += (looked.empty() ? "" : ", ") + std::string(candidate);
  }
  return error(Code::not_found, "finding ROCm (HIP's headers, its runtime and the device libraries): none in {}; {}", looked,
               kInstall);
}

int hip_version_built_with() { return MNEME_HIP_VERSION_MAJOR; }

std::string remark_on_version(const Rocm& rocm, int built_with) {
  constexpr std::string_view kMajor = "#define HIP_VERSION_MAJOR ";
  const auto header = FileSystem::posix().read(rocm.home / "include/hip/hip_version.h");
  if (!header.ok()) return {};
  const std::string_view text(reinterpret_cast<const char*>(header->data()), header->size());
  const size_t at = text.find(kMajor);
  const int version = at == text.npos ? 0 : std::atoi(std::string(text.substr(at + kMajor.size(), 8)).c_str());
  if (version == 0 || built_with == 0 || version == built_with) return {};
  return fmt::format(
      "ROCm in {} is version {}, and this Mneme was built with version {}, where some structures and numbers of HIP's are "
      "others: "
      "what a program asks of pointers and of the device may be wrong under Mneme; build Mneme with ROCM_PATH={}",
      rocm.home.string(), version, built_with, rocm.home.string());
}

bool are_hip_architectures(std::string_view text) { return std::ranges::all_of(split(text, ','), is_hip_architecture); }

Status check_device_libraries(const Rocm& rocm, std::string_view architectures) {
  for (const std::string_view architecture : split(architectures, ',')) {
    const std::string version(architecture.substr(3, architecture.find(':') - 3));
    const Path file = rocm.device_libraries / ("oclc_isa_version_" + version + ".bc");
    if (!FileSystem::posix().exists(file))
      return error(
          Code::unsupported,
          "ROCm in {} has no device library for {} (there is no {}): set ROCM_PATH to a newer ROCm, or choose another --arch",
          rocm.home.string(), architecture, file.string());
  }
  return {};
}

std::vector<std::string> hip_cxx_flags(const Installation& installation, const Rocm& rocm, const HipBuildOptions& options) {
  std::vector<std::string> flags = plugin_flags(installation);
  for (std::string& flag : rocm_flags(rocm)) flags.push_back(std::move(flag));
  add_headers(flags, rocm.home);
  // One word, since CMake drops the second of two equal words from its lists.
  flags.push_back("-include" + (installation.includedir / "mneme/abi/hip_compiler.h").string());
  flags.push_back("--offload-arch=" + options.architectures);
  flags.push_back("-I" + installation.includedir.string());
  if (options.device_code == DeviceCode::relocatable) flags.push_back("-fgpu-rdc");
  return flags;
}

std::vector<std::string> hip_link_flags(const Installation& installation, const Rocm& rocm, const HipBuildOptions& options) {
  const std::string folder = rocm.library.parent_path().string();
  std::vector<std::string> flags;
  if (options.device_code == DeviceCode::relocatable) {
    flags = rocm_flags(rocm);
    flags.insert(flags.begin(), {"--hip-link", "-fgpu-rdc", "--offload-arch=" + options.architectures});
  }
  flags.insert(flags.end(), {"-L" + installation.libdir.string(),
                             // For what MNEME_TUNED alone has the program load.
                             "-Wl,-rpath," + installation.libdir.string(), "-lmneme_runtime_hip",
                             "-Wl,@" + installation.hip_wrap_options().string(), "-L" + folder, "-Wl,-rpath," + folder,
                             "-lamdhip64", "-lrt", "-ldl", "-lpthread"});
  return flags;
}

Result<Path> find_hip_for_nvidia() {
  FileSystem& files = FileSystem::posix();
  if (const char* home = std::getenv("ROCM_PATH"); home && *home) {
    if (files.exists(Path(home) / kNvidiaHeader)) return Path(home);
    return error(Code::not_found, "ROCM_PATH is {}, which has no headers of HIP for NVIDIA GPUs (no {}): {}", home, kNvidiaHeader,
                 "install hip-dev and hip-runtime-nvidia there, or unset it");
  }
  std::string looked;
  for (const char* candidate : {MNEME_ROCM_HOME, "/opt/rocm", "/usr"}) {
    if (files.exists(Path(candidate) / kNvidiaHeader)) return Path(candidate);
    looked += (looked.empty() ? "" : ", ") + std::string(candidate);
  }
  return error(Code::not_found, "finding HIP's headers for NVIDIA GPUs: none in {}; {}", looked, kInstallForNvidia);
}

std::vector<std::string> hip_nvidia_cxx_flags(const Installation& installation, const Path& cuda, const Path& hip,
                                              const BuildFlagOptions& options) {
  std::vector<std::string> flags = cxx_flags(installation, cuda, options);
  flags.insert(flags.end(),
               {"-D__HIP_PLATFORM_NVIDIA__", "-include" + (installation.includedir / "mneme/abi/hip_nvidia.h").string()});
  add_headers(flags, hip);
  return flags;
}

std::vector<std::string> hip_nvidia_link_flags(const Installation& installation, const Path& cuda,
                                               const BuildFlagOptions& options) {
  std::vector<std::string> flags = link_flags(installation, cuda, options);
  const Path stubs = cuda / "lib64/stubs";
  // One word, whose parts CMake leaves in their order.
  if (FileSystem::posix().exists(stubs / "libcuda.so"))
    flags.insert(flags.end(), {"-L" + stubs.string(), "-Wl,--push-state,--as-needed,-lcuda,--pop-state"});
  return flags;
}

}  // namespace mneme::cli
