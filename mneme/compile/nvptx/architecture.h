// NVIDIA's architectures, and which runs whose code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme::nvptx {

// The fewest registers that a cap may leave a thread, since the calling convention needs them, and the most that a thread can
// have. The same on all architectures from sm_70 on.
inline constexpr uint32_t kFewestRegisters = 24, kMostRegisters = 255;

// An assembler raises a cap that is too low, and forgets one that is too high, with a warning. invalid_argument, with the knob's
// name: the cap is one of these.
Status check_registers(const char* knob, std::optional<uint32_t> cap, const std::string& architecture);

// Whether a device of architecture `device` ("sm_90") runs a cubin made for `target` ("sm_90", "sm_90a", "sm_100f"). By the CUDA
// programming guide's rules of binary compatibility it does so if the major versions are the same, and the target's minor version
// is the same or, without "a", an older one. False where one of the two is no architecture.
bool runs_on(std::string_view target, std::string_view device);

}  // namespace mneme::nvptx
