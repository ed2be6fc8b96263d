// Occupancy on AMD GPUs: how many wavefronts a SIMD ("execution unit") can hold at once.
#pragma once

#include <cstdint>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/amdgpu/code_object.h"

namespace mneme::amdgpu {

// By the kernel's registers, and by the LDS of its largest work-group. The limits are those that LLVM has for the processor:
// sizes of register files and LDS, the granules by which they are given out, and the most wavefronts of a SIMD. `features` are as
// llc's -mattr takes them; "+cumode" has work-groups run on one compute unit, and not on two.
uint32_t waves_per_eu(const KernelEntry& kernel, const std::string& processor, const std::string& features);

}  // namespace mneme::amdgpu
