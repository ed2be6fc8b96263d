// Barriers of a block and collectives of a warp, for threads that are fibers. The rules are the PTX ISA's.
#pragma once

#include "mneme/cpu/run/scheduler.h"

namespace mneme::cpu {

// When a thread ends: it leaves the masks of its warp's meetings and the barriers of its block, which may release others.
// Called before the block counts it as exited.
void leave_collectives(Scheduler& scheduler, Fiber& fiber);

// shfl.sync's source lane: `value` is the lane operand b, `clamp` the operand c. The source is the lane itself when out of range.
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
