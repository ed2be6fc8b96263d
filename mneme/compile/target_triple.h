// The triples of what kernels are recorded for (KernelRecord::target).
#pragma once

#include <string_view>

namespace mneme {

inline constexpr char kNvptxTriple[] = "nvptx64-nvidia-cuda", kAmdgcnTriple[] = "amdgcn-amd-amdhsa";

// `target`: "nvptx" or "amdgcn".
constexpr const char* triple_of(std::string_view target) { return target == "amdgcn" ? kAmdgcnTriple : kNvptxTriple; }

}  // namespace mneme
