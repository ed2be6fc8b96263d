// Launch reads: the instructions by which device code learns the dimensions of its launch, and its place in them. NVIDIA's are
// reads of special registers. AMD's are intrinsics, and loads from two structures that come with a launch: the dispatch packet,
// and the implicit arguments of code object versions 5 and 6 (LLVM's "User Guide for AMDGPU Backend"). Not installed.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <string>

#include "mneme/base/types.h"

namespace mneme::ir {

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
  friend bool operator==(const LaunchReadKind&, const LaunchReadKind&) = default;
};

// Calls `visit` for each such instruction of the module, by the target that the module is for. `visit` may erase the instruction
// that it is given.
void for_each_launch_read(llvm::Module& module, llvm::function_ref<void(const LaunchReadKind&, llvm::Instruction&)> visit);

// What the instruction reads in a launch of these dimensions; of an index that is the number of its values.
uint64_t extent_of(const LaunchReadKind& kind, const Dim3& grid, const Dim3& block);

// Puts an instruction there that reads it, by the target of the builder's module: an i32. `kind` is one of the first four.
llvm::Value* create_launch_read(llvm::IRBuilderBase& builder, const LaunchReadKind& kind);

// For analyses that look at both vendors' code: each launch read becomes a call of a function that no vendor has, named
// "mneme.launch.thread_index.x" and so on, of type i32, which nothing defines. Totals become products; what only blocks that are
// not whole would read becomes 0, as it is in all launches, and code that nothing uses any more goes. The module is then not to
// be compiled.
void name_launch_reads(llvm::Module& module);
// What a function of such a name reads; nothing for all others.
std::optional<LaunchReadKind> named_launch_read(llvm::StringRef function);

// Whether the value is a pointer to one of the structures that come with a launch of AMD's.
bool is_launch_structure(const llvm::Value& value);

}  // namespace mneme::ir
