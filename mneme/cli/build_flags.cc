#include "mneme/cli/build_flags.h"

#include <charconv>

namespace mneme::cli {

std::vector<std::string> plugin_flags(const Installation& installation) {
  return {
      "-fpass-plugin=" + installation.plugin().string(),
      "-fno-discard-value-names",
      // The same flags serve where some have nothing to do: host code, relocatable device code, linking.
      "-Wno-unused-command-line-argument",
      // What the plugin warns of keeps a kernel from being recorded, not a program with -Werror from being built.
      "-Wno-error=backend-plugin",
  };
}

namespace {

std::vector<std::string> common_flags(const Installation& installation, const Path& cuda) {
  std::vector<std::string> flags = plugin_flags(installation);
  flags.push_back("--cuda-path=" + cuda.string());
  // clang 22 knows CUDA up to 12.9 and compiles with 13: the warning says no more than that.
  flags.push_back("-Wno-unknown-cuda-version");
  // fatbinary compresses debug images by default, with a method of its own; the kernels' IR is read from them.
  flags.insert(flags.end(), {"-Xcuda-fatbinary", "--compress=false"});
  // Where CUDA 13 keeps CUB, Thrust and libcu++.
  const Path cccl = cuda / "include" / "cccl";
  if (FileSystem::posix().exists(cccl)) flags.push_back("-I" + cccl.string());
  return flags;
}

}  // namespace

std::vector<std::string> cxx_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options) {
  std::vector<std::string> flags = common_flags(installation, cuda);
  flags.push_back("--offload-arch=" + options.architecture);
  flags.push_back("-I" + installation.includedir.string());
  if (options.device_code == DeviceCode::relocatable) flags.push_back("-fgpu-rdc");
  return flags;
}

std::vector<std::string> cuda_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options) {
  std::vector<std::string> flags = common_flags(installation, cuda);
  // CMake tests the compiler without an architecture; clang's default, sm_52, is older than CUDA 13 takes.
  flags.push_back("--no-offload-arch=sm_52");
  flags.push_back("--offload-arch=" + options.architecture);
  flags.push_back("-I" + installation.includedir.string());
  return flags;
}

std::vector<std::string> link_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options) {
  const std::string cuda_libraries = (cuda / "lib64").string();
  std::vector<std::string> flags{
      "-L" + installation.libdir.string(),
      // For what MNEME_TUNED alone has the program load.
      "-Wl,-rpath," + installation.libdir.string(),
      "-lmneme_runtime",
      "-Wl,@" + installation.wrap_options().string(),
      "-L" + cuda_libraries,
  };
  if (options.device_code == DeviceCode::relocatable) {
    // The second --cuda-path is for the link of the device code, which would look for nvlink in /usr/local/cuda alone.
    flags.insert(flags.begin(), {"--offload-link", "--offload-arch=" + options.architecture, "--cuda-path=" + cuda.string(),
                                 "-Wno-unknown-cuda-version", "-Xoffload-linker", "--cuda-path=" + cuda.string()});
  }
  if (options.cuda_runtime == CudaRuntime::shared_library) {
    flags.insert(flags.end(), {"-Wl,-rpath," + cuda_libraries, "-lcudart"});
  } else {
    flags.push_back("-lcudart_static");
  }
  flags.insert(flags.end(), {"-lrt", "-ldl", "-lpthread"});
  return flags;
}

bool is_architecture(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  unsigned number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() && number >= 75 && number <= 121;
}

std::string join_for_shell(const std::vector<std::string>& flags) {
  std::string line;
  for (const std::string& flag : flags) {
    if (!line.empty()) line += ' ';
    if (flag.find_first_of(" \t\n\"'\\$`*?[]()<>|&;#~!{}") == std::string::npos) {
      line += flag;
      continue;
    }
    line += '\'';
    for (char c : flag) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace mneme::cli
