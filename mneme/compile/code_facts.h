// CodeFacts: what is known of compiled code without loading it. The facts are about a kernel and the functions that it calls,
// in an object that has only this kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "mneme/base/types.h"

namespace mneme {

// A member is empty where it is not known.
struct CodeFacts {
  // Machine instructions. On the CPU device the loop over a block's threads is among them.
  std::optional<uint64_t> instructions;
  std::optional<uint32_t> registers;          // a thread
  std::optional<Bytes> stack_frame;           // a thread, with the frames of called functions where the tool knows their depth
  std::optional<Bytes> spill_stores;          // bytes that store instructions spill, each instruction of the code counted once
  std::optional<Bytes> spill_loads;           // bytes that load instructions bring back, counted in the same way
  std::optional<Bytes> static_shared_memory;  // a block
  // Of code for AMD GPUs. `registers` are then vector registers, with the accumulation registers where these are of the same
  // file.
  std::optional<uint32_t> scalar_registers;          // a wavefront
  std::optional<uint32_t> accumulation_registers;    // a thread
  std::optional<uint32_t> spilled_registers;         // vector registers that were spilled, each place counted
  std::optional<uint32_t> spilled_scalar_registers;  // the same of scalar registers
  std::optional<uint32_t> waves_per_eu;              // wavefronts that a SIMD can hold at once (amdgpu/occupancy.h)

  friend bool operator==(const CodeFacts&, const CodeFacts&) = default;
};

}  // namespace mneme
