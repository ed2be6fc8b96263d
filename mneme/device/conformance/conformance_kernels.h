// What the suite and its kernels agree on. Included by host and by device code.
#pragma once

#include <cstdint>

namespace mneme::conformance {

// A parameter with holes between its members.
struct Particle {
  char tag;
  double position[3];
  short charge;
  uint64_t id;
  unsigned char flags[5];
};

// What write_indices stores for each thread.
struct ThreadIndices {
  uint32_t thread[3];
  uint32_t block[3];
};

// What warp_collectives stores for each thread.
struct WarpResults {
  int32_t sum;        // of the warp's values, by shfl_down; of lane 0
  int32_t prefix;     // inclusive, by shfl_up
  int32_t butterfly;  // the sum in every lane, by shfl_xor
  int32_t broadcast;  // lane 5's value
  int32_t segment;    // the value of lane 1 of each 8
  uint32_t ballot;    // lanes with an odd value
  uint32_t all;       // values below 1000
  uint32_t any;       // values that are 7
};

// What atomic_operations leaves.
struct AtomicResults {
  int32_t add;
  int32_t maximum;
  int32_t minimum;
  uint32_t bits_or;
  uint32_t bits_and;
  uint32_t bits_xor;
  uint32_t exchanged;  // how many exchanges saw a value that some thread wrote
  uint32_t compared;   // additions by compare and swap
  uint64_t wide;
  float real;
  uint32_t wrapped;  // atomicInc
};

inline constexpr uint32_t kGlobalCounters = 4;
inline constexpr uint32_t kTableEntries = 8;
inline constexpr uint32_t kReverseThreads = 256;  // of reverse_in_block

}  // namespace mneme::conformance
