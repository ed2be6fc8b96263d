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

// Options for clang++ that compile .cu files (not "-x cuda", which would also hold for object files of the same command line).
std::vector<std::string> cxx_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);
// The same for CMake's CUDA language, where they also reach CMake's own test of the compiler.
std::vector<std::string> cuda_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);
// What a recordable program or shared library links, behind its objects.
std::vector<std::string> link_flags(const Installation& installation, const Path& cuda, const BuildFlagOptions& options);

// sm_75 to sm_121, with or without the suffix a or f: what CUDA 13 compiles for.
bool is_architecture(std::string_view text);

// One line for a shell: options with blanks or signs that a shell reads are quoted.
std::string join_for_shell(const std::vector<std::string>& flags);

}  // namespace mneme::cli
