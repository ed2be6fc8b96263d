// mneme config KEY: what a build system needs to know.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "mneme/base/suggestion.h"
#include "mneme/cli/build_flags.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

const std::vector<std::string> kKeys{"cc",     "cxx",        "cxxflags", "cudaflags", "ldflags", "prefix",
                                     "libdir", "includedir", "cmakedir", "cudadir",   "version"};

class ConfigCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option(
           "KEY", key_,
           "cc, cxx: the compilers; cxxflags: compile .cu files; cudaflags: the same for CMake's CUDA language; ldflags: link; "
           "prefix, libdir, includedir, cmakedir, cudadir: folders; version")
        ->required();
    app.add_option("--arch", options_.architecture, "GPU architecture to compile for (default: $MNEME_ARCH, else sm_90)");
    app.add_flag("--rdc", relocatable_, "relocatable device code: -fgpu-rdc in cxxflags, --offload-link in ldflags");
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
    MNEME_TRY(choose_architecture());
    MNEME_ASSIGN(Path cuda, find_cuda_toolkit());
    if (key_ == "cudadir") return cuda.string();
    return join_for_shell(flags(installation, cuda));
  }

  Status choose_architecture() {
    std::string source = "--arch";
    if (options_.architecture.empty()) {
      const char* chosen = std::getenv("MNEME_ARCH");
      source = "MNEME_ARCH";
      options_.architecture = chosen && *chosen ? chosen : BuildFlagOptions().architecture;
    }
    if (is_architecture(options_.architecture)) return {};
    return error(Code::invalid_argument, "{}: '{}' is no GPU architecture from sm_75 to sm_121, as sm_90 is", source,
                 options_.architecture);
  }

  std::vector<std::string> flags(const Installation& installation, const Path& cuda) {
    options_.cuda_runtime = cudart_ == "shared" ? CudaRuntime::shared_library : CudaRuntime::static_library;
    options_.device_code = relocatable_ ? DeviceCode::relocatable : DeviceCode::whole;
    if (key_ == "cxxflags") return cxx_flags(installation, cuda, options_);
    if (key_ == "cudaflags") return cuda_flags(installation, cuda, options_);
    return link_flags(installation, cuda, options_);
  }

  Status unknown_key() const {
    return error(Code::invalid_argument, "there is no key '{}'{} (keys: {})", key_, did_you_mean(key_, kKeys),
                 fmt::join(kKeys, ", "));
  }

  std::string key_;
  std::string cudart_ = "static";
  bool relocatable_ = false;
  BuildFlagOptions options_{.architecture = ""};
};

const Registration registration(
    {.name = "config",
     .summary = "print what a build system needs: compilers, flags, folders",
     .examples = {{"$(mneme config cxx) -O2 $(mneme config cxxflags) app.cu -o app $(mneme config ldflags)",
                   "build a program that can be recorded"},
                  {"mneme config cmakedir", "what CMAKE_PREFIX_PATH is to have for find_package(mneme)"}}},
    [] { return std::make_unique<ConfigCommand>(); });

}  // namespace
}  // namespace mneme::cli
