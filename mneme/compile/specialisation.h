// Specialisation: what a compilation may take for granted about the launches of one kernel. Code that is made with it is right
// only for launches of which all of it is true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// A parameter that has the same value in all launches.
struct ArgumentValue {
  unsigned parameter = 0;  // index
  ByteVector bytes;        // as they lie in the packed parameter buffer
  friend bool operator==(const ArgumentValue&, const ArgumentValue&) = default;
};

// What is known about a parameter that is a pointer.
struct PointerFacts {
  unsigned parameter = 0;
  uint64_t alignment = 1;  // of its value: a power of two
  bool no_alias = false;   // the memory reached through it is reached in no other way, or nobody writes it
  friend bool operator==(const PointerFacts&, const PointerFacts&) = default;
};

struct LaunchDimensions {
  Dim3 grid;   // in blocks
  Dim3 block;  // in threads
  friend bool operator==(const LaunchDimensions&, const LaunchDimensions&) = default;
};

// What the code generator is promised or told about launches. The CPU device refuses all of these, NVIDIA GPUs the last, and AMD
// GPUs those of blocks and clusters. (PTX has no minimum of registers.)
struct LaunchBounds {
  std::optional<uint32_t> max_threads = {};    // of a block
  std::optional<uint32_t> min_blocks = {};     // that a multiprocessor is to hold at once; goes with a bound of the threads
  std::optional<uint32_t> max_cluster = {};    // blocks of a cluster; from sm_90 on
  std::optional<uint32_t> max_registers = {};  // of a thread; on an AMD GPU vector registers, and as many for accumulation
  std::optional<uint32_t> waves_per_eu = {};   // that a SIMD of an AMD GPU is to hold at least
  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};

struct Specialisation {
  std::string kernel = {};  // symbol of the kernel; empty: nothing is specialised
  std::vector<ArgumentValue> arguments = {};
  std::vector<PointerFacts> pointers = {};
  std::optional<LaunchDimensions> dimensions = {};  // blockDim and gridDim are these
  std::optional<LaunchDimensions> ranges = {};      // blockDim and gridDim are at most these; threadIdx and blockIdx lie below
  LaunchBounds bounds = {};
  friend bool operator==(const Specialisation&, const Specialisation&) = default;
};

}  // namespace mneme
