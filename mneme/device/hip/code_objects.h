// The kernels of device/gpu's memory_kernels.cu and element_kernels.cu as code objects, which the build makes for each
// architecture of MNEME_HIP_ARCHITECTURES. They are of code object version 4, which every runtime since ROCm 4.5 loads, and kept
// compressed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/device/gpu/memory_kernels.h"

namespace mneme::hip {

// "gfx90a" of "gfx90a:sramecc+:xnack-": the code objects run whatever the settings are.
std::string_view processor_of(std::string_view architecture);
// The architectures that there are code objects for: "gfx90a", "gfx942".
std::vector<std::string_view> kernel_architectures();
// The code object of a device's architecture. unsupported, with advice: there is none.
Result<ByteVector> kernel_code_object(gpu::KernelSource source, std::string_view architecture);
// What a device's LazyMemoryKernels load by.
gpu::LoadKernels kernel_loader(const std::string& architecture);

}  // namespace mneme::hip
