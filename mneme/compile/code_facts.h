// What is known of compiled code without loading it: of an object with one kernel, the kernel with the functions that it calls.
#pragma once

#include <cstdint>
#include <optional>

#include "mneme/base/types.h"

namespace mneme {

// Empty where it is not known.
struct CodeFacts {
  // Machine instructions. On the CPU device the loop over a block's threads is among them.
  std::optional<uint64_t> instructions;
  std::optional<uint32_t> registers;          // a thread
  std::optional<Bytes> stack_frame;           // a thread, with the frames of functions that are called where their depth is known
  std::optional<Bytes> spill_stores;          // bytes that the code's store instructions spill, each instruction counted once
  std::optional<Bytes> spill_loads;           // and that its load instructions bring back
  std::optional<Bytes> static_shared_memory;  // a block

  friend bool operator==(const CodeFacts&, const CodeFacts&) = default;
};

}  // namespace mneme
