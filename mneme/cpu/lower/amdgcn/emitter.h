// What AMDGCN intrinsics mean on the host: a table of rows, one an intrinsic, in files by subject. Semantics follow the ISA
// documents of AMD (CDNA 3, RDNA 3) and LLVM's "User Guide for AMDGPU Backend"; results of instructions that approximate (v_rcp,
// v_sin) are at least as exact as a GPU's and need not agree with it to the bit.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <span>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::cpu::amdgcn {

// Makes the host IR of one call, before it. What is made of it replaces the call.
class Emitter {
 public:
  // `site` is the call's (wave_sites.h).
  Emitter(llvm::CallBase& call, llvm::Value* thread, uint32_t site, uint32_t warp_size)
      : ir(&call), state(ir, thread), call(call), site(site), warp_size(warp_size) {}

  llvm::Value* argument(unsigned i) const { return call.getArgOperand(i); }
  // Of an argument that must be constant; 0 where it is not.
  uint64_t constant(unsigned i) const;

  // A value of at most 64 bits as i64, and back. Null: the type has more, or is none that lies in registers.
  llvm::Value* to_word(llvm::Value* value);
  llvm::Value* from_word(llvm::Value* word, llvm::Type* type);

  // Collectives of the wave, at this call's site.
  llvm::Value* ballot(llvm::Value* predicate);  // i64
  // The i64 `word` of lane `source` (i32), and whether that lane takes part (i1).
  std::pair<llvm::Value*, llvm::Value*> read(llvm::Value* word, llvm::Value* source);
  llvm::Value* lane_within(llvm::Value* lane);  // the number modulo the wave's lanes

  llvm::IRBuilder<> ir;
  ptx::ThreadState state;
  llvm::CallBase& call;
  const uint32_t site;
  const uint32_t warp_size;
};

// Whether a thread that executes the intrinsic goes on by itself, meets the lanes of its wave, or may have to wait or end.
enum class Meets { nobody, wave, others };

struct Row {
  llvm::Intrinsic::ID id;
  // The value of the call; for one without a value anything but null. Null: this use of the intrinsic is not there.
  llvm::Value* (*emit)(Emitter&);
  Meets meets = Meets::nobody;
};

std::span<const Row> launch_rows();  // ids and sizes, what the launch was given, kinds of addresses
std::span<const Row> lane_rows();    // values of other lanes, votes
std::span<const Row> system_rows();  // barriers, hints, clocks
std::span<const Row> float_rows();
std::span<const Row> bit_rows();

// The intrinsic's row; null where there is none.
const Row* find_row(llvm::Intrinsic::ID id);

}  // namespace mneme::cpu::amdgcn
