// What the handle of a texture or a surface points to, of a vendor whose handles are pointers.
#pragma once

#include <optional>

#include "mneme/base/memory_range.h"
#include "mneme/base/textures.h"

namespace mneme {

// Where the descriptors lie that kernels read through the recorded handle, as HIP's runtime makes them: 48 bytes of an image and,
// of a texture, behind them 32 of a sampler (HIP_IMAGE_OBJECT_SIZE_DWORD, HIP_SAMPLER_OBJECT_SIZE_DWORD). Nothing where the
// handle is a number, as on NVIDIA's GPUs and the CPU device.
std::optional<MemoryRange> descriptors_of(const TextureObject& object);

}  // namespace mneme
