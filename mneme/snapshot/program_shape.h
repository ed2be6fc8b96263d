// ProgramShape: how the program launched a kernel, without the arguments and the memory. By it launches are counted.
#pragma once

#include <compare>

#include "mneme/base/cluster.h"
#include "mneme/base/types.h"

namespace mneme {

struct ProgramShape {
  Dim3 grid, block;
  Bytes shared = {};  // dynamic shared memory of a block
  bool cooperative = false;
  Dim3 cluster = kNoCluster;  // in blocks
  friend auto operator<=>(const ProgramShape&, const ProgramShape&) = default;
};

}  // namespace mneme
