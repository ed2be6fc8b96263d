// The shared memory (LDS) of a block.
#pragma once

#include "mneme/hip/rows.h"

namespace mneme::hip {

inline constexpr int kLdsBytes = 64 << 10;  // of a block, on all of these GPUs

// Of more shared memory than usual CUDA's kernels are to be told before they are launched or put into a graph, HIP's not.
inline void allow_shared_memory(Table& table, const void* function, size_t bytes) {
  constexpr size_t kWithoutOptIn = 48 << 10;
  if (bytes > kWithoutOptIn && !table.ends_in_runtime())
    (void)MNEME_CUDA(table, cudaFuncSetAttribute)(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace mneme::hip
