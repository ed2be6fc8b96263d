// mneme config KEY: what a build system needs to know.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "mneme/base/log.h"
#include "mneme/base/suggestion.h"
#include "mneme/cli/build_flags.h"
#include "mneme/cli/hip_build_flags.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

const std::vector<std::string> kKeys{"cc",     "cxx",        "cxxflags", "cudaflags", "ldflags", "prefix",
                                     "libdir", "includedir", "cmakedir", "cudadir",   "rocmdir", "version"};

class ConfigCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option(
           "KEY", key_,
           "cc, cxx: the compilers; cxxflags: compile .cu files; cudaflags: the same for CMake's CUDA language; ldflags: link; "
           "prefix, libdir, includedir, cmakedir, cudadir, rocmdir: folders; version")
        ->required();
    app.add_option("--arch", options_.architecture,
                   "GPU architecture to compile for (default: $MNEME_ARCH, else sm_90, with --hip gfx90a)");
    app.add_flag("--hip", hip_, "cxxflags and ldflags of HIP programs, whose --arch may be several by commas: gfx90a,gfx942");
    app.add_option("--platform", platform_,
                   "with --hip, whose GPUs: amd or nvidia, where --arch is one of NVIDIA's (default: $HIP_PLATFORM, else amd)")
        ->check(CLI::IsMember({"amd", "nvidia"}));
    app.add_flag("--rdc", relocatable_,
                 "relocatable device code: -fgpu-rdc in cxxflags, --offload-link or --hip-link in ldflags");
    app.add_option("--cudart", cudart_, "CUDA runtime to link: static or shared")->check(CLI::IsMember({"static", "shared"}));
  }

  int run() override {
    auto value = look_up();
    if (!value.ok() && value.status().code() == Code::invalid_argument) return report_usage("config", value.status().message());
    if (!value.ok()) return report(value.status());
    write_content(*value + "\n");
    return 0;
  }

 private:
  Result<std::string> look_up() {
    if (key_ == "version") return std::string(MNEME_VERSION);
    if (key_ == "cc" || key_ == "cxx") {
      MNEME_ASSIGN(Path compiler, find_clang(key_ == "cc" ? "clang" : "clang++"));
      return compiler.string();
    }
    MNEME_ASSIGN(Installation installation, Installation::find());
    if (key_ == "prefix") return installation.prefix.string();
    if (key_ == "libdir") return installation.libdir.string();
    if (key_ == "includedir") return installation.includedir.string();
    if (key_ == "cmakedir") return installation.cmakedir.string();
    if (std::find(kKeys.begin(), kKeys.end(), key_) == kKeys.end()) return unknown_key();
    if (platform_ && !hip_) return error(Code::invalid_argument, "--platform is of HIP programs: add --hip");
    if (hip_ || key_ == "rocmdir") return look_up_hip(installation);
    MNEME_TRY(choose_architecture());
    MNEME_ASSIGN(Path cuda, find_cuda_toolkit());
    if (key_ == "cudadir") return cuda.string();
    return join_for_shell(flags(installation, cuda));
  }

  Result<std::string> look_up_hip(const Installation& installation) {
    MNEME_TRY(choose_platform());
    if (cudart_ && !is_for_nvidia())
      return error(Code::invalid_argument, "--cudart is of CUDA programs, and not of HIP's: leave it out");
    if (key_ == "cudaflags" || key_ == "cudadir")
      return error(Code::invalid_argument, "'{}' is of CUDA, and not of HIP: leave --hip out", key_);
    if (is_for_nvidia()) return look_up_hip_for_nvidia(installation);
    HipBuildOptions options;
    const std::string source = choose_architecture(options.architectures);
    if (!are_hip_architectures(options.architectures))
      return error(Code::invalid_argument, "{}: '{}' is no architecture of an AMD GPU, as gfx90a is, or several by commas",
                   source, options.architectures);
    MNEME_ASSIGN(const Rocm rocm, find_rocm());
    if (key_ == "rocmdir") return rocm.home.string();
    MNEME_TRY(check_device_libraries(rocm, options.architectures));
    if (const std::string remark = remark_on_version(rocm, hip_version_built_with()); !remark.empty()) log::warning("{}", remark);
    options.device_code = relocatable_ ? DeviceCode::relocatable : DeviceCode::whole;
    return join_for_shell(key_ == "cxxflags" ? hip_cxx_flags(installation, rocm, options)
                                             : hip_link_flags(installation, rocm, options));
  }

  Result<std::string> look_up_hip_for_nvidia(const Installation& installation) {
    MNEME_ASSIGN(const Path hip, find_hip_for_nvidia());
    if (key_ == "rocmdir") return hip.string();
    MNEME_TRY(choose_architecture());
    MNEME_ASSIGN(const Path cuda, find_cuda_toolkit());
    choose_build();
    return join_for_shell(key_ == "cxxflags" ? hip_nvidia_cxx_flags(installation, cuda, hip, options_)
                                             : hip_nvidia_link_flags(installation, cuda, options_));
  }

  // --platform, else HIP_PLATFORM, which hipcc reads too.
  Status choose_platform() {
    if (platform_) return {};
    const char* chosen = std::getenv("HIP_PLATFORM");
    platform_ = chosen && *chosen ? chosen : "amd";
    if (*platform_ == "amd" || *platform_ == "nvidia") return {};
    return error(Code::invalid_argument, "HIP_PLATFORM: '{}' is no platform of HIP: set amd or nvidia, or unset it", *platform_);
  }
  bool is_for_nvidia() const { return hip_ && platform_ == "nvidia"; }

  // --arch, else MNEME_ARCH where it is of the vendor asked for, else what it was. Returns where it is from.
  std::string choose_architecture(std::string& architecture) const {
    const char* chosen = std::getenv("MNEME_ARCH");
    if (!options_.architecture.empty()) {
      architecture = options_.architecture;
      return "--arch";
    }
    const auto is_of = [chosen](std::string_view vendor) { return chosen && std::string_view(chosen).starts_with(vendor); };
    const bool of_other_vendor = hip_ && is_of(is_for_nvidia() ? "gfx" : "sm_");
    if (chosen && *chosen && !of_other_vendor) architecture = chosen;
    return "MNEME_ARCH";
  }

  Status choose_architecture() {
    std::string architecture = BuildFlagOptions().architecture;
    const std::string source = choose_architecture(architecture);
    options_.architecture = architecture;
    if (is_architecture(options_.architecture)) return {};
    return error(Code::invalid_argument, "{}: '{}' is no GPU architecture from sm_75 to sm_121, as sm_90 is", source,
                 options_.architecture);
  }

  void choose_build() {
    options_.cuda_runtime = cudart_.value_or("static") == "shared" ? CudaRuntime::shared_library : CudaRuntime::static_library;
    options_.device_code = relocatable_ ? DeviceCode::relocatable : DeviceCode::whole;
  }

  std::vector<std::string> flags(const Installation& installation, const Path& cuda) {
    choose_build();
    if (key_ == "cxxflags") return cxx_flags(installation, cuda, options_);
    if (key_ == "cudaflags") return cuda_flags(installation, cuda, options_);
    return link_flags(installation, cuda, options_);
  }

  Status unknown_key() const {
    return error(Code::invalid_argument, "there is no key '{}'{} (keys: {})", key_, did_you_mean(key_, kKeys),
                 fmt::join(kKeys, ", "));
  }

  std::string key_;
  std::optional<std::string> cudart_, platform_;
  bool relocatable_ = false, hip_ = false;
  BuildFlagOptions options_{.architecture = ""};
};

const Registration registration(
    {.name = "config",
     .summary = "print what a build system needs: compilers, flags, folders",
     .examples = {{"$(mneme config cxx) -O2 $(mneme config cxxflags) app.cu -o app $(mneme config ldflags)",
                   "build a program that can be recorded"},
                  {"$(mneme config cxx) -O2 $(mneme config --hip cxxflags) tool.hip -o tool $(mneme config --hip ldflags)",
                   "the same for a HIP program"},
                  {"mneme config cmakedir", "what CMAKE_PREFIX_PATH is to have for find_package(mneme)"}}},
    [] { return std::make_unique<ConfigCommand>(); });

}  // namespace
}  // namespace mneme::cli
