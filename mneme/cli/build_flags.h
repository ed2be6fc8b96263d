// The compiler and linker options that make a program recordable: what `mneme config` prints and the CMake package uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cli/installation.h"

namespace mneme::cli {

enum class CudaRuntime { static_library, shared_library };
enum class DeviceCode { whole, relocatable };

struct BuildFlagOptions {
  std::string architecture = "sm_90";
  CudaRuntime cuda_runtime = CudaRuntime::static_library;
  DeviceCode device_code = DeviceCode::whole;
};

// The options that have clang run the plugin, whichever vendor the code is for.
std::vector<std::string> plugin_flags(const Installation& installation);

// The options with which clang++ compiles .cu files so that their kernels can be recorded. "-x cuda" is not among them, since it
// would also hold for object files on the same command line.
std::vector<std::string> cxx_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);
// The same for CMake's CUDA language. They also fit CMake's own test of the compiler, which gives no architecture.
std::vector<std::string> cuda_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);
// The options with which a recordable program or shared library is linked. They stand behind its objects.
std::vector<std::string> link_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);

// Whether CUDA 13 compiles for such an architecture: sm_75 to sm_121, with or without the suffix a or f.
bool is_architecture(std::string_view text);

// The options as one line for a shell. Those with blanks or characters that mean something to a shell are quoted.
std::string join_for_shell(const std::vector<std::string>& flags);

}  // namespace mneme::cli
