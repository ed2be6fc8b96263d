// Barriers of a block and collectives of a warp, for threads that are fibers. These are the services of the same names
// (image.h), with the rules of the PTX ISA. A call that the rules forbid is a fault of the kernel (FaultKind::misuse).
#pragma once

#include "mneme/cpu/run/scheduler.h"

namespace mneme::cpu {

// To be called when a thread ends, before its block counts it as exited: takes it out of its warp's meetings and of the
// barriers of its block, which may release other threads.
void leave_collectives(Scheduler& scheduler, Fiber& fiber);

// The lane that shfl.sync reads from. `value` is the instruction's lane operand b, `clamp` its operand c. A source out of range
// becomes the lane itself.
struct ShuffleSource {
  uint32_t lane;
  bool in_range;
};
ShuffleSource shuffle_source(uint32_t mode, uint32_t lane, uint32_t value, uint32_t clamp);

void barrier(mneme_cpu_thread* thread, uint32_t id, uint32_t threads);
void barrier_arrive(mneme_cpu_thread* thread, uint32_t id, uint32_t threads);
uint32_t barrier_reduce(mneme_cpu_thread* thread, uint32_t id, uint32_t threads, uint32_t reduce, uint32_t predicate);
void warp_sync(mneme_cpu_thread* thread, uint32_t mask);
uint32_t shuffle(mneme_cpu_thread* thread, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t c,
                 uint32_t* in_range);
uint32_t vote(mneme_cpu_thread* thread, uint32_t mask, uint32_t mode, uint32_t predicate);
uint32_t match_any(mneme_cpu_thread* thread, uint32_t mask, uint64_t value);
uint32_t match_all(mneme_cpu_thread* thread, uint32_t mask, uint64_t value, uint32_t* predicate);
uint32_t reduce(mneme_cpu_thread* thread, uint32_t mask, uint32_t reduce, uint32_t value);

}  // namespace mneme::cpu
