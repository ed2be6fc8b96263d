// NVIDIA's architectures, and which runs whose code.
#pragma once

#include <cstdint>
#include <string_view>

namespace mneme::nvptx {

// The least a cap may leave a thread of a kernel, since the calling convention needs them, and the most that one can have. Of all
// architectures from sm_70 on.
inline constexpr uint32_t kFewestRegisters = 24, kMostRegisters = 255;

// Whether a device of architecture `device` ("sm_90") runs a cubin made for `target` ("sm_90", "sm_90a", "sm_100f"), by the CUDA
// programming guide's rules of binary compatibility: the same major version and no newer minor one; with "a" the same version.
// False where one is no architecture.
bool runs_on(std::string_view target, std::string_view device);

}  // namespace mneme::nvptx
