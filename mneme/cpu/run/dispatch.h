// What AMDGCN code reads of its launch (struct mneme_cpu_dispatch).
#pragma once

#include "mneme/cpu/run/image.h"
#include "mneme/device/device.h"

namespace mneme::cpu {

// `parameters` is where the packed parameters lie while the launch runs. Grids have whole blocks, so that nothing remains. What a
// device has outside of the launch (the buffers of printf and of calls of the host, the heap, queues) is null.
mneme_cpu_dispatch describe_dispatch(const mneme_cpu_kernel& kernel, const LaunchShape& shape, const void* parameters);

}  // namespace mneme::cpu
