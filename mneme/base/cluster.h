// Clusters of blocks: what a launch that asks for none has in the place of their extents.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// The extents of a cluster are counted in blocks. A launch without has these.
inline constexpr Dim3 kNoCluster{0, 0, 0};

}  // namespace mneme
