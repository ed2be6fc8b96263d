// The compiler and linker options that make a HIP program recordable: what `mneme config --hip` prints. For CUDA: build_flags.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cli/build_flags.h"
#include "mneme/cli/installation.h"

namespace mneme::cli {

// ROCm, as far as programs are compiled and linked with it.
struct Rocm {
  Path home;
  Path library;           // libamdhip64.so
  Path device_libraries;  // the folder of ocml.bc
};

// The ROCm that HIP programs are compiled with: $ROCM_PATH, the one Mneme was built with, /opt/rocm, /usr; the first that has
// headers, the runtime and the device libraries. unsupported: this Mneme was built without HIP. not_found with what was looked
// at.
Result<Rocm> find_rocm();

// The major version of the HIP that this Mneme was built with; 0: without HIP.
int hip_version_built_with();
// What is to be told of a ROCm of another major version than the one that Mneme was built with: empty where they are the same,
// and where either is not known (0).
std::string remark_on_version(const Rocm& rocm, int built_with);

struct HipBuildOptions {
  std::string architectures = "gfx90a";  // several by commas: "gfx90a,gfx942"
  DeviceCode device_code = DeviceCode::whole;
};

// Whether it is one of AMD's architectures, or several by commas, as clang takes them: "gfx90a", "gfx90a:xnack+,gfx942".
bool are_hip_architectures(std::string_view text);

// ok when ROCm has device libraries for each architecture; else unsupported: what is missing, and that a newer ROCm has it.
Status check_device_libraries(const Rocm& rocm, std::string_view architectures);

// The options with which clang++ compiles HIP files so that their kernels can be recorded. "-x hip" is not among them, for the
// reason that "-x cuda" is not. The same fit CMake's HIP language, which gives the architectures itself.
std::vector<std::string> hip_cxx_flags(const Installation& installation, const Rocm& rocm, const HipBuildOptions& options);
// The options with which a recordable program or shared library is linked. They stand behind its objects.
std::vector<std::string> hip_link_flags(const Installation& installation, const Rocm& rocm, const HipBuildOptions& options);

// The ROCm whose HIP headers are those for NVIDIA GPUs too, of which nothing else is needed: looked for where find_rocm looks,
// also by a Mneme that was built without HIP. not_found with what was looked at.
Result<Path> find_hip_for_nvidia();

// HIP programs for NVIDIA GPUs are CUDA programs whose HIP functions are inline functions over CUDA's. The options with which
// clang++ compiles them so: those of CUDA programs, the headers in `hip`, and what these expect of older versions of CUDA.
std::vector<std::string> hip_nvidia_cxx_flags(const Installation& installation, const Path& cuda, const Path& hip,
                                              const BuildFlagOptions& options);
// The options with which they are linked, behind the objects. The CUDA driver's library is linked where the program calls it.
std::vector<std::string> hip_nvidia_link_flags(const Installation& installation, const Path& cuda,
                                               const BuildFlagOptions& options);

}  // namespace mneme::cli
