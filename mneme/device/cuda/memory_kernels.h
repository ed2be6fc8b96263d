// The kernels of device/gpu's memory_kernels.cu and element_kernels.cu as PTX, which the build makes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "mneme/device/gpu/memory_kernels.h"

namespace mneme::cuda {

// A zero byte follows the view, as the driver wants it.
std::string_view memory_kernels_ptx();
std::string_view element_kernels_ptx();
// Cuts the kernels `names` out of `ptx`, so that the driver compiles only them. Kernels of `ptx` share nothing but the lines
// before the first one. A name that `ptx` lacks is left out.
std::string ptx_of_kernels(std::string_view ptx, std::initializer_list<std::string_view> names);

// What a device's LazyMemoryKernels load by.
Result<std::unique_ptr<gpu::GpuModule>> load_kernels(const gpu::Context& context, gpu::KernelSource source,
                                                     std::initializer_list<std::string_view> names);

}  // namespace mneme::cuda
