// memory_kernels.cu compiled as host code, for tests. The threads of a launch run one after another. To be included by one
// source.
#pragma once

#include <cstdint>
#include <utility>

namespace mneme::gpu::host {

// Which thread of the launch runs now.
struct Place {
  unsigned thread = 0, threads = 1, block = 0, blocks = 1;
};
inline thread_local Place place;

inline unsigned thread_in_block() { return place.thread; }
inline unsigned threads_in_block() { return place.threads; }
inline unsigned block_in_grid() { return place.block; }
inline unsigned blocks_in_grid() { return place.blocks; }
inline void add(unsigned long long* to, unsigned long long value) { *to += value; }
inline unsigned long long exchange(unsigned long long* to, unsigned long long value) { return std::exchange(*to, value); }
inline void lower(unsigned long long* to, unsigned long long value) {
  if (value < *to) *to = value;
}
inline void order_on_device() {}
// The first thread of a block begins the sum, and for the last it is there.
inline bool store_block_sum(unsigned long long* to, unsigned long long value) {
  *to = place.thread == 0 ? value : *to + value;
  return place.thread + 1 == place.threads;
}
inline bool is_last_of_launch(unsigned long long*) {
  return place.thread + 1 == place.threads && place.block + 1 == place.blocks;
}

#define MNEME_MEMORY_KERNELS_ON_HOST
#define MNEME_KERNEL inline
#define MNEME_DEVICE inline
#define MNEME_MEMBER inline
#include "mneme/device/gpu/memory_kernels.cu"

// Calls `kernel` for every thread of a launch of `blocks` blocks with `threads` threads each.
template <typename Function>
void run(unsigned blocks, unsigned threads, Function&& kernel) {
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      place = {thread, threads, block, blocks};
      kernel();
    }
  }
}

}  // namespace mneme::gpu::host
