// ThreadState: makes IR that reads what a running thread knows of itself, and that calls the CPU device's services, by the
// layouts of mneme/cpu/run/image.h.
//
// A ThreadState emits at its builder's insertion point; it owns nothing and lives no longer than builder and thread value. Loads
// from the block's description are marked invariant: it never changes while the image's function runs.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mneme::ptx {

// The services of struct mneme_cpu_services, in its order.
enum class CpuService {
  barrier,
  barrier_arrive,
  barrier_reduce,
  warp_sync,
  shuffle,
  vote,
  match_any,
  match_all,
  reduce,
  active_mask,
  yield,
  vprintf,
  malloc,
  free,
  assert_fail,
  trap,
  exit,
  clock,
  global_timer,
  wild_call,
  texture_fetch,
  surface_read,
  surface_write,
  keep_step,
  wave_sync,
  wave_ballot,
  wave_read,
  wave_push,
  in_stack,
  host_call,
  grid_barrier,
  image_read,
  image_write,
  image_property,
};

class ThreadState {
 public:
  ThreadState(llvm::IRBuilderBase& builder, llvm::Value* thread) : builder_(builder), thread_(thread) {}

  llvm::Value* thread() const { return thread_; }

  // i32; axis 0, 1, 2 for x, y, z.
  llvm::Value* thread_index(unsigned axis);
  llvm::Value* block_index(unsigned axis);
  llvm::Value* block_dim(unsigned axis);
  llvm::Value* grid_dim(unsigned axis);
  llvm::Value* lane();
  llvm::Value* warp();
  llvm::Value* worker();
  llvm::Value* dynamic_shared_bytes();
  llvm::Value* shared_bytes();

  // ptr: the start of the block's shared memory; what a cooperative launch shares, or null.
  llvm::Value* shared_base();
  llvm::Value* grid_workspace();
  // ptr: the launch's struct mneme_cpu_dispatch.
  llvm::Value* dispatch();
  // ptr: where the shared address `address` (any integer; only its low 32 bits count) lies.
  llvm::Value* shared_pointer(llvm::Value* address);
  // i1: whether the generic pointer (or 64-bit integer) `address` lies in the block's shared memory.
  llvm::Value* in_shared(llvm::Value* address);

  // Calls a service with the thread and then `arguments`, which must have the C types of image.h. Returns the result, or null
  // where there is none. For services that do not return, the caller puts an unreachable where it wants the block to end.
  llvm::Value* call(CpuService service, llvm::ArrayRef<llvm::Value*> arguments);

  // A value by the name that PTX gives the special register without its `%`: "tid.x", "laneid", "lanemask_lt", "clock64" …
  // Its type is i32 or i64, as PTX has it; null for a register that is not known.
  llvm::Value* special_register(std::string_view name);

 private:
  llvm::Value* load(llvm::Value* base, uint64_t offset, llvm::Type* type, const char* name);
  llvm::Value* block();

  llvm::IRBuilderBase& builder_;
  llvm::Value* thread_;
};

}  // namespace mneme::ptx
