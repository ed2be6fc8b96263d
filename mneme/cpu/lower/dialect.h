// Dialect: where the device code of one vendor's GPUs differs from that of others. What all have in common is the rest of this
// room; a vendor joins by a room within and a row of the table (dialects.cc).
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <span>

#include "mneme/base/status.h"

namespace mneme::cpu {

// What a shift by its type's width or more does: PTX gives 0 or the sign, an AMD GPU counts only the amount's low bits.
enum class LongShift { shifts_out, wraps };

// Functions are stateless, and work on a module that one thread has.
struct Dialect {
  const char* intrinsic_prefix;      // "llvm.nvvm."
  const char* default_architecture;  // of functions that do not say theirs
  LongShift long_shift;
  bool (*is_of)(const llvm::Triple&);
  // Refuses, before anything else is done with it, a module that cannot be lowered. Null: none is refused.
  Status (*check)(const llvm::Module&);
  // Called before the user's pipeline: defines what the module leaves to others, and takes out what the CPU device has. Null:
  // nothing.
  void (*complete)(llvm::Module&);
  uint32_t (*launch_bound)(const llvm::Function& kernel);  // most threads of a block; 0 where it has no bound
  uint32_t (*warp_size)(const llvm::Function& kernel);
  // Of GPUs whose warps run in lockstep: whether the instruction is a barrier of the threads of a block or of a warp. Null: warps
  // do not run so.
  bool (*is_barrier)(const llvm::Instruction&);
  // Called first of the lowering, with kernels as they are. Null: nothing is to be done.
  Status (*begin)(llvm::Module&);
  // Makes pointers of fewer bits than the host's hold the host's addresses: called when functions have the thread parameter, and
  // shared variables are operands of instructions only. Null: all pointers have as many bits.
  Status (*fit_pointers)(llvm::Module&);
  // As of intrinsics.h.
  Status (*lower_instructions)(llvm::Function&, llvm::Value* thread);
  bool (*needs_fibers)(const llvm::Instruction&);
  bool (*observes_other_threads)(const llvm::Instruction&);  // beside what IR itself says of loads and atomic accesses
  bool (*is_device_instruction)(const llvm::Instruction&);
};

// The dialect of code for the triple; null where there is none.
const Dialect* find_dialect(const llvm::Triple& triple);
// That of the module, which check() has let through. A module without a triple counts as NVPTX's.
const Dialect& dialect_of(const llvm::Module& module);

}  // namespace mneme::cpu
