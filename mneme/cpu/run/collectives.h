// Barriers of a block and collectives of a warp or a wave, for threads that are fibers. These are the services of the same names
// (image.h), those of a block and a warp with the rules of the PTX ISA. A call that the rules forbid is a fault of the kernel
// (FaultKind::misuse).
#pragma once

#include "mneme/cpu/run/scheduler.h"

namespace mneme::cpu {

// To be called when a thread ends, before its block counts it as exited: takes it out of its warp's meetings and of the
// barriers of its block, which may release other threads.
void leave_collectives(Scheduler& scheduler, Fiber& fiber);

// To be called when no thread can go on: of each wave that has lanes in its collectives, completes the one that is least far in
// the code with the lanes that are there. Returns whether there was one.
bool resolve_waves(Scheduler& scheduler, const std::vector<std::unique_ptr<Block>>& blocks);

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
void wave_sync(mneme_cpu_thread* thread, uint32_t site);
uint64_t wave_ballot(mneme_cpu_thread* thread, uint32_t site, uint32_t predicate);
uint64_t wave_read(mneme_cpu_thread* thread, uint32_t site, uint64_t value, uint32_t source, uint32_t* there);
uint64_t wave_push(mneme_cpu_thread* thread, uint32_t site, uint64_t value, uint32_t target);

}  // namespace mneme::cpu
