// element_kernels.cu compiled as host code, for tests. The threads of a launch run one after another. To be included by one
// source.
#pragma once

#include "mneme/device/element_filter.h"
#include "mneme/device/element_math.h"
#include "mneme/device/gpu/memory_kernels_host.h"

namespace mneme::gpu::host::elements {

// The caller has set the tallies to Tally(). A merge over the block is the same as one thread after another.
inline void store_of_block(element::Tally* to, const element::Tally& tally, int sum) { element::merge(*to, tally, sum); }

#define MNEME_ELEMENT_KERNELS_ON_HOST
#undef MNEME_DEVICE
#undef MNEME_KERNEL
#define MNEME_KERNEL inline
#define MNEME_DEVICE inline
#include "mneme/device/gpu/element_kernels.cu"

using Kernel = void (*)(const u8*, const u8*, u64, element::Measure, element::Tally*);
struct NamedKernel {
  const char* name;
  Kernel kernel;
};
#define MNEME_NAMED_KERNEL(name, format) {"mneme_elements_" #name, &mneme_elements_##name},
inline constexpr NamedKernel kKernels[] = {MNEME_ELEMENT_FORMATS(MNEME_NAMED_KERNEL)};
#undef MNEME_NAMED_KERNEL

}  // namespace mneme::gpu::host::elements
