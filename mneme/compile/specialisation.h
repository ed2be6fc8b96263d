// Specialisation: what a compilation may take for granted of the launches of one kernel, as values. Code that is made with it is
// right only for launches of which all of it is true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// A parameter that is a constant.
struct ArgumentValue {
  unsigned parameter = 0;  // index
  ByteVector bytes;        // as they lie in the packed parameter buffer
  friend bool operator==(const ArgumentValue&, const ArgumentValue&) = default;
};

// What is known of a parameter that is a pointer.
struct PointerFacts {
  unsigned parameter = 0;
  uint64_t alignment = 1;  // of its value: a power of two
  bool no_alias = false;   // memory that is reached through it is not reached in another way, or is written by nobody
  friend bool operator==(const PointerFacts&, const PointerFacts&) = default;
};

struct LaunchDimensions {
  Dim3 grid;   // in blocks
  Dim3 block;  // in threads
  friend bool operator==(const LaunchDimensions&, const LaunchDimensions&) = default;
};

// What the code generator is promised or told. PTX has no minimum of registers; none of these has an effect on the CPU device.
struct LaunchBounds {
  std::optional<uint32_t> max_threads = {};    // of a block
  std::optional<uint32_t> min_blocks = {};     // that a multiprocessor is to hold at once; goes with a bound of the threads
  std::optional<uint32_t> max_cluster = {};    // blocks of a cluster; from sm_90 on
  std::optional<uint32_t> max_registers = {};  // of a thread
  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};

struct Specialisation {
  std::string kernel = {};  // symbol; the other members are about its launches
  std::vector<ArgumentValue> arguments = {};
  std::vector<PointerFacts> pointers = {};
  std::optional<LaunchDimensions> dimensions = {};  // blockDim and gridDim are constants
  std::optional<LaunchDimensions> ranges = {};      // threadIdx, blockIdx, blockDim and gridDim lie below these
  LaunchBounds bounds = {};
  friend bool operator==(const Specialisation&, const Specialisation&) = default;
};

}  // namespace mneme
