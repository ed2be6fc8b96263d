// Launch reads: the instructions by which device code learns the dimensions of its launch, and its place in them. NVIDIA's are
// reads of special registers. AMD's are intrinsics, and loads from two structures that come with a launch: the dispatch packet,
// and the implicit arguments of code object versions 5 and 6 (LLVM's "User Guide for AMDGPU Backend").
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "mneme/compile/specialisation.h"

namespace mneme {

enum class LaunchRead {
  thread_index,   // threadIdx
  block_index,    // blockIdx
  block_extent,   // blockDim
  grid_extent,    // gridDim: in blocks
  total_threads,  // of the grid in one direction
  remainder,      // threads of a block that is not whole: launches of HIP and CUDA have none
};

struct LaunchReadKind {
  LaunchRead read;
  unsigned axis;  // 0 to 2
};

// Calls `visit` for each such instruction of the module, by the target that the module is for. `visit` may erase the instruction
// that it is given.
void for_each_launch_read(llvm::Module& module, llvm::function_ref<void(const LaunchReadKind&, llvm::Instruction&)> visit);

// What the instruction reads in a launch of these dimensions; of an index that is the number of its values.
uint64_t extent_of(const LaunchReadKind& kind, const LaunchDimensions& dimensions);

}  // namespace mneme
