// Where ROCm's device libraries are, without LLVM (device_libraries.h links them).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mneme::amdgpu {

// Each may use functions of those behind it.
inline constexpr std::array<const char*, 4> kDeviceLibraries = {"hip.bc", "opencl.bc", "ocml.bc", "ockl.bc"};

// The folder of the libraries in a ROCm, whose packages have them in different ones: the first of these that has ocml.bc, and
// amdgcn/bitcode where none has.
std::string device_library_folder(const std::string& rocm_home);
// The folders where the libraries may be: HIP_DEVICE_LIB_PATH, those of the ROCm in ROCM_PATH and in /opt/rocm, and where Debian
// has them.
std::vector<std::string> device_library_folders();
// The first of the folders that has them, as it has ocml.bc; nothing: none has.
std::optional<std::string> find_device_libraries(const std::vector<std::string>& folders);

}  // namespace mneme::amdgpu
