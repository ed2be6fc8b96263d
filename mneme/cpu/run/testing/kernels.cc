// A hand-written image of the CPU device (see image.h), for the tests of its executor.
#include <stdint.h>

#include "mneme/cpu/run/image.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using Thread = mneme_cpu_thread;
using Block = mneme_cpu_block;

const mneme_cpu_services& services(Thread* t) { return *t->block->services; }
uint32_t block_threads(const Block& b) { return b.block[0] * b.block[1] * b.block[2]; }
uint32_t linear_thread(const Thread* t) { return t->warp * 32 + t->lane; }
uint32_t linear_block(const Block& b) { return b.index[0] + b.grid[0] * (b.index[1] + b.grid[1] * b.index[2]); }
uint32_t global_thread(const Thread* t) { return linear_block(*t->block) * block_threads(*t->block) + linear_thread(t); }

struct Parameters {
  uint32_t* out;
  uint32_t a, b, c, d;
  void* pointer;
};

}  // namespace

#define FIBERS(name, shared, stack)                                                                               \
  static void name##_thread(const Parameters& p, Thread* t);                                                      \
  static void name##_entry(const void* p, Thread* t) { name##_thread(*static_cast<const Parameters*>(p), t); }    \
  EXPORTED const mneme_cpu_kernel __mneme_cpu_kernel_##name = {                                                   \
      MNEME_CPU_IMAGE_VERSION, MNEME_CPU_FIBERS, sizeof(Parameters), shared, stack, 0, 0, nullptr, name##_entry}; \
  static void name##_thread(const Parameters& p, Thread* t)

#define WAVES(name, lanes)                                                                                                     \
  static void name##_thread(const Parameters& p, Thread* t);                                                                   \
  static void name##_entry(const void* p, Thread* t) { name##_thread(*static_cast<const Parameters*>(p), t); }                 \
  EXPORTED const mneme_cpu_kernel __mneme_cpu_kernel_##name = {                                                                \
      MNEME_CPU_IMAGE_VERSION, MNEME_CPU_FIBERS, sizeof(Parameters), 0, 0, 0, 0, nullptr, name##_entry, nullptr, 0, lanes, 0}; \
  static void name##_thread(const Parameters& p, Thread* t)

#define LOOP(name, max_threads)                                                                                   \
  static void name##_block(const Parameters& p, Block* b);                                                        \
  static void name##_entry(const void* p, Block* b) { name##_block(*static_cast<const Parameters*>(p), b); }      \
  EXPORTED const mneme_cpu_kernel __mneme_cpu_kernel_##name = {                                                   \
      MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, sizeof(Parameters), 0, 64, max_threads, 0, name##_entry, nullptr}; \
  static void name##_block(const Parameters& p, Block* b)

LOOP(loop_indices, 256) {
  const uint32_t threads = block_threads(*b);
  for (uint32_t i = 0; i < threads; ++i) p.out[linear_block(*b) * threads + i] += linear_block(*b) + i + 1;
}

LOOP(loop_null_write, 0) { *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1230} + b->index[0]) = 1; }

// Thread p.a writes where nothing is.
LOOP(loop_bad_write, 0) {
  for (uint32_t z = b->first[2]; z < b->end[2]; ++z)
    for (uint32_t y = b->first[1]; y < b->end[1]; ++y)
      for (uint32_t x = b->first[0]; x < b->end[0]; ++x)
        if (x + b->block[0] * (y + b->block[1] * z) == p.a) *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1;
}

LOOP(loop_bad_once, 0) {
  if (p.out[0]++ == 0) *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1;
}

LOOP(loop_bad_then_endless, 0) {
  auto* runs = reinterpret_cast<volatile uint32_t*>(p.out);
  while (*runs != 0) {
  }
  *runs = 1;
  *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1;
}

LOOP(loop_print_and_fault, 0) {
  Thread t{b, {}, 0, 0, 0, nullptr};
  b->services->vprintf(&t, "here\n", nullptr);
  *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1;
}

// Run again, it fails an assertion.
LOOP(loop_fault_then_assert, 0) {
  if (p.out[0]++ == 0) *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1;
  Thread t{b, {}, 0, 0, 0, nullptr};
  b->services->assert_fail(&t, "again", "app.cu", 12, "void check(int)");
}

LOOP(_Z5crashPfi, 0) { *reinterpret_cast<volatile uint32_t*>(uint64_t{0x1000}) = 1; }

LOOP(loop_barrier, 0) {
  Thread t{b, {3, 0, 0}, 3, 0, 0, nullptr};
  b->services->barrier(&t, 0, 0);
}

// A block of one thread, where nobody is waited for.
LOOP(loop_alone, 0) {
  Thread t{b, {}, 0, 0, 0, nullptr};
  const mneme_cpu_services& s = *b->services;
  uint32_t in_range = 9, out_of_range = 9, predicate = 9;
  s.barrier(&t, 0, 0);
  s.barrier_arrive(&t, 1, 0);
  s.warp_sync(&t, ~0u);
  const uint32_t results[] = {
      s.barrier_reduce(&t, 0, 0, MNEME_CPU_REDUCE_POPC, 5),
      s.barrier_reduce(&t, 0, 0, MNEME_CPU_REDUCE_OR, 0),
      s.shuffle(&t, ~0u, MNEME_CPU_SHUFFLE_DOWN, 77, 0, 31, &in_range),
      s.shuffle(&t, ~0u, MNEME_CPU_SHUFFLE_UP, 78, 1, 0, &out_of_range),
      in_range,
      out_of_range,
      s.vote(&t, ~0u, MNEME_CPU_VOTE_UNI, 0),
      s.vote(&t, ~0u, MNEME_CPU_VOTE_ALL, 0),
      s.vote(&t, ~0u, MNEME_CPU_VOTE_ANY, 8),
      s.match_any(&t, ~0u, 40),
      s.match_all(&t, ~0u, 41, &predicate),
      predicate,
      s.reduce(&t, ~0u, MNEME_CPU_REDUCE_ADD, 42),
  };
  for (uint32_t i = 0; i < sizeof results / sizeof *results; ++i) p.out[i] = results[i];
}

LOOP(loop_misaligned_division, 0) { p.out[0] = p.a / p.b; }

// In which place each block came.
LOOP(loop_places, 0) { p.out[linear_block(*b)] = __atomic_add_fetch(static_cast<uint32_t*>(p.pointer), 1, __ATOMIC_RELAXED); }
FIBERS(fiber_places, 0, 256) {
  if (linear_thread(t) == 0)
    p.out[linear_block(*t->block)] = __atomic_add_fetch(static_cast<uint32_t*>(p.pointer), 1, __ATOMIC_RELAXED);
}

FIBERS(fiber_indices, 0, 256) {
  const uint32_t* n = t->block->block;
  const uint32_t* i = t->index;
  p.out[global_thread(t)] += i[0] + n[0] * (i[1] + n[1] * i[2]) + 1 + linear_block(*t->block);
}

// Static shared memory holds the values, dynamic shared memory their copy in reverse.
FIBERS(reverse, 1024 * 4, 256) {
  auto* values = reinterpret_cast<uint32_t*>(t->block->shared);
  auto* reversed = reinterpret_cast<uint32_t*>(t->block->shared + 1024 * 4);
  const uint32_t i = linear_thread(t), n = block_threads(*t->block);
  values[i] = global_thread(t);
  services(t).barrier(t, 0, 0);
  reversed[i] = values[n - 1 - i];
  services(t).barrier(t, 0, 0);
  p.out[global_thread(t)] = reversed[i] + (t->block->dynamic_shared_bytes == n * 4 ? 0 : 1);
}

// Warp 0 produces and exits; warp 1 waits for it at barrier 1, of 64 threads.
FIBERS(produce_consume, 4, 256) {
  auto* value = reinterpret_cast<volatile uint32_t*>(t->block->shared);
  if (t->warp == 0) {
    if (t->lane == 31) *value = 7;
    services(t).barrier_arrive(t, 1, 64);
    return;
  }
  services(t).barrier(t, 1, 64);
  p.out[t->lane] = *value;
}

// Warp 1 arrives at the block's barrier 1 and exits, before the last thread of warp 0 is there, for whose value the others wait.
FIBERS(arrive_and_exit_first, 8, 256) {
  auto* shared = reinterpret_cast<volatile uint32_t*>(t->block->shared);
  if (t->warp == 1) {
    shared[0] = shared[0] + 1;
    services(t).barrier_arrive(t, 1, 0);
    return;
  }
  if (t->lane == 31) {
    while (shared[0] < 32) services(t).yield(t);
    for (uint32_t i = 0; i < 100; ++i) services(t).yield(t);
    shared[1] = 7;
  }
  services(t).barrier(t, 1, 0);
  p.out[t->lane] = shared[1];
}

// Warp 1 arrives at barrier 1 and exits only when warp 0 is at the next use of it, for which it is not needed.
FIBERS(arrive_and_exit_later, 0, 256) {
  if (t->warp == 0) {
    services(t).barrier(t, 1, 64);
    services(t).barrier(t, 2, 64);
    services(t).barrier(t, 1, 0);
    p.out[t->lane] = 7;
  } else {
    services(t).barrier_arrive(t, 1, 64);
    services(t).barrier(t, 2, 64);
    for (uint32_t i = 0; i < 100; ++i) services(t).yield(t);
  }
}

// p.a = 0: warp 1 arrives at barrier 1, where nobody waits. 1: the block waits there but for warp 0, which exits later.
FIBERS(arrive_or_exit, 0, 256) {
  if (p.a == 0) {
    if (t->warp == 1) services(t).barrier_arrive(t, 1, 64);
  } else if (t->warp == 0) {
    for (uint32_t i = 0; i < 100; ++i) services(t).yield(t);
  } else {
    services(t).barrier(t, 1, 0);
    p.out[t->lane] = 7;
  }
}

// p.a rounds at barrier 2, of 64 threads: all but those of warp 0.
FIBERS(part_barrier_again, 4, 256) {
  auto* count = reinterpret_cast<uint32_t*>(t->block->shared);
  if (linear_thread(t) == 0) *count = 0;
  services(t).barrier(t, 0, 0);
  if (t->warp == 0) return;
  for (uint32_t round = 0; round < p.a; ++round) {
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    services(t).barrier(t, 2, 64);
    p.out[linear_thread(t)] = *count;
    services(t).barrier(t, 2, 64);
  }
}

// p.a threads at barrier 2; the rest exits at once.
FIBERS(part_barrier, 4, 256) {
  auto* count = reinterpret_cast<uint32_t*>(t->block->shared);
  if (linear_thread(t) == 0) *count = 0;
  services(t).barrier(t, 0, 0);
  if (linear_thread(t) >= p.a) return;
  __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  services(t).barrier(t, 2, p.b);
  p.out[linear_thread(t)] = *count;
}

// Warp 0 says how many threads the block has, warp 1 that all of them are waited for.
FIBERS(barrier_of_all, 0, 256) {
  services(t).barrier(t, 1, t->warp == 0 ? block_threads(*t->block) : 0);
  p.out[linear_thread(t)] = 1;
}

FIBERS(times, 0, 256) {
  auto* out = static_cast<uint64_t*>(p.pointer);
  out[0] = services(t).global_timer(t);
  out[1] = services(t).clock(t);
  while (services(t).clock(t) == out[1]) services(t).yield(t);
}

// Of the first two warps the even threads meet at barrier 2, of 64 threads, and the odd ones exit; p.a: only once the others are
// there.
FIBERS(part_barrier_after_exit, 4, 256) {
  auto* count = reinterpret_cast<uint32_t*>(t->block->shared);
  const uint32_t i = linear_thread(t);
  if (i == 0) *count = 0;
  services(t).barrier(t, 0, 0);
  if (t->warp > 1) return;
  if (i % 2 == 1) {
    while (p.a != 0 && __atomic_load_n(count, __ATOMIC_RELAXED) != 32) services(t).yield(t);
    return;
  }
  __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  services(t).barrier(t, 2, 64);
  p.out[i] = *count;
}

FIBERS(barrier_reductions, 0, 256) {
  const uint32_t i = linear_thread(t);
  const uint32_t odd = i & 1;
  p.out[i * 4 + 0] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_POPC, odd);
  p.out[i * 4 + 1] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_AND, odd);
  p.out[i * 4 + 2] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_OR, odd);
  p.out[i * 4 + 3] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_AND, 5);
}

// Sums over all threads, and then over none of which the predicate is true.
FIBERS(barrier_reductions_again, 0, 256) {
  uint32_t* out = p.out + 2 * linear_thread(t);
  out[0] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_POPC, 1);
  out[1] = services(t).barrier_reduce(t, 0, 0, MNEME_CPU_REDUCE_POPC, 0);
}

// Half of the block exits before the barrier.
FIBERS(barrier_after_exit, 0, 256) {
  const uint32_t i = linear_thread(t);
  if (i % 2 == 0) services(t).exit(t);
  services(t).barrier(t, 0, 0);
  p.out[i] = services(t).barrier_reduce(t, 3, 0, MNEME_CPU_REDUCE_POPC, 1);
}

// a: mode, b: operand, c: packed clamp, d: mask. out[2 i], out[2 i + 1]: value and predicate.
FIBERS(shuffles, 0, 256) {
  const uint32_t i = linear_thread(t);
  uint32_t predicate = 9;
  if ((p.d >> t->lane & 1) == 0) return;
  p.out[2 * i] = services(t).shuffle(t, p.d, p.a, 100 + i, p.b, p.c, &predicate);
  p.out[2 * i + 1] = predicate;
}

// Each lane names its own source: rotates within the warp.
FIBERS(rotate, 0, 256) {
  const uint32_t i = linear_thread(t);
  uint32_t value = i;
  for (uint32_t k = 0; k < p.a; ++k) {
    uint32_t predicate;
    value = services(t).shuffle(t, ~0u, MNEME_CPU_SHUFFLE_IDX, value, (t->lane + 1) % 32, 31, &predicate);
  }
  p.out[i] = value;
}

FIBERS(votes, 0, 256) {
  const uint32_t i = linear_thread(t);
  uint32_t* out = p.out + 8 * i;
  const auto& s = services(t);
  out[0] = s.vote(t, ~0u, MNEME_CPU_VOTE_BALLOT, t->lane % 3 == 0);
  out[1] = s.vote(t, ~0u, MNEME_CPU_VOTE_ALL, t->lane < 31);
  out[2] = s.vote(t, ~0u, MNEME_CPU_VOTE_ANY, t->lane == 5);
  out[3] = s.vote(t, ~0u, MNEME_CPU_VOTE_UNI, t->lane < 16);
  out[4] = s.match_any(t, ~0u, uint64_t{t->lane % 4} << 40);
  uint32_t all = 9, none = 9;
  out[5] = s.match_all(t, ~0u, 77, &all);
  out[6] = s.match_all(t, ~0u, t->lane / 31, &none);
  out[7] = all * 10 + none;
}

// Whether all threads say the same: that they do, that they do not, that one does, that one does not.
FIBERS(votes_of_one_mind, 0, 256) {
  const auto& s = services(t);
  uint32_t* out = p.out + 4 * linear_thread(t);
  out[0] = s.vote(t, ~0u, MNEME_CPU_VOTE_UNI, 1);
  out[1] = s.vote(t, ~0u, MNEME_CPU_VOTE_UNI, 0);
  out[2] = s.vote(t, ~0u, MNEME_CPU_VOTE_UNI, t->lane == 3);
  out[3] = s.vote(t, ~0u, MNEME_CPU_VOTE_UNI, t->lane != 3);
}

// a: operation. The halves of each warp reduce apart, with masks of their own.
FIBERS(reductions, 0, 256) {
  const uint32_t mask = t->lane < 16 ? 0xffff : 0xffff0000;
  p.out[linear_thread(t)] = services(t).reduce(t, mask, p.a, (t->lane - 8) * 3);
}

// Each lane names all lanes but itself.
FIBERS(left_out_of_the_own_mask, 0, 256) {
  p.out[linear_thread(t)] = services(t).reduce(t, ~(uint32_t{1} << t->lane), MNEME_CPU_REDUCE_ADD, t->lane);
}

// The lanes of a warp call two collectives with one mask.
FIBERS(two_kinds_of_collectives, 0, 256) {
  if (t->lane % 2 == 0)
    services(t).reduce(t, ~0u, MNEME_CPU_REDUCE_ADD, 1);
  else
    services(t).vote(t, ~0u, MNEME_CPU_VOTE_BALLOT, 1);
}

// Two groups of lanes wait for the last lane, which exits.
FIBERS(two_meetings_and_an_exit, 0, 256) {
  if (t->lane == 31) {
    for (uint32_t i = 0; i < 100; ++i) services(t).yield(t);
    return;
  }
  const uint32_t mask = t->lane < 8 ? 0x800000ffu : 0xffffff00u;
  p.out[t->lane] = services(t).reduce(t, mask, MNEME_CPU_REDUCE_ADD, 1);
}

// Odd lanes exit; the others go on with the full mask.
FIBERS(collectives_after_exit, 0, 256) {
  const uint32_t i = linear_thread(t);
  if (t->lane % 2 == 1) {
    if (t->lane > 16) services(t).exit(t);
    return;
  }
  services(t).warp_sync(t, ~0u);
  p.out[i] = services(t).vote(t, ~0u, MNEME_CPU_VOTE_BALLOT, 1) + services(t).reduce(t, ~0u, MNEME_CPU_REDUCE_ADD, 1);
}

// Exits from many frames deep, more often than there are fibers.
static void dive(Thread* t, uint32_t depth, volatile uint32_t* sink) {
  if (depth == 0) services(t).exit(t);
  volatile uint32_t local[16] = {depth};
  dive(t, depth - 1, sink);
  *sink = local[0];
}
FIBERS(deep_exit, 4, 8192) {
  p.out[global_thread(t)] += 1;  // each thread begins at its beginning
  services(t).warp_sync(t, ~0u);
  p.out[global_thread(t)] += 1;
  dive(t, 20, p.out);
}

FIBERS(active_masks, 0, 256) {
  const uint32_t i = linear_thread(t);
  if (t->lane == 3) return;
  if (t->lane < 8) {
    asm volatile("# the first of two calls");  // which would be made one
    p.out[i] = services(t).active_mask(t);
  } else {
    p.out[i] = services(t).active_mask(t) & services(t).vote(t, services(t).active_mask(t), MNEME_CPU_VOTE_BALLOT, 1);
  }
}

// The lanes that come are others in each warp and in each block.
FIBERS(active_masks_of_warps, 0, 256) {
  const uint32_t which = linear_block(*t->block) * 2 + t->warp;
  if (t->lane / 2 != which) return;
  p.out[which] = services(t).active_mask(t);
}

// A sum over the lanes up to each, of which a lane gets that of the next one. Only lanes from p.a on do the first store.
FIBERS(steps, 256, 256) {
  auto* values = reinterpret_cast<volatile uint32_t*>(t->block->shared) + 32 * t->warp;
  const auto step = [&](uint32_t lane) { return services(t).keep_step(t, const_cast<uint32_t*>(values + lane)), &values[lane]; };
  if (t->lane >= p.a) *step(t->lane) = 1000;
  *step(t->lane) = t->lane;
  uint32_t sum = t->lane;
  for (uint32_t distance = 1; distance < 32; distance *= 2) {
    if (t->lane >= distance) {
      sum += *step(t->lane - distance);
      *step(t->lane) = sum;
    }
  }
  p.out[global_thread(t)] = *step((t->lane + 1) % 32);
}

// The first lane waits at an earlier call for what the second does after a later one.
FIBERS(steps_of_who_waits, 4, 256) {
  auto* flag = reinterpret_cast<volatile uint32_t*>(t->block->shared);
  if (t->lane == 0) {
    do {
      services(t).keep_step(t, t->block->shared);
    } while (*flag != 7);
    p.out[0] = *flag;
  } else {
    services(t).keep_step(t, t->block->shared);
    *flag = 7;
  }
}

// A thread waits in active_mask while another spins for what it does next.
FIBERS(active_mask_and_spin, 4, 256) {
  auto* flag = reinterpret_cast<volatile uint32_t*>(t->block->shared);
  if (t->lane == 0) {
    *flag = 0;
    p.out[0] = services(t).active_mask(t);
    *flag = 1;
  } else {
    services(t).yield(t);
    while (*flag != 1) services(t).yield(t);
  }
}

// The first thread waits for the last one's word.
FIBERS(spin_for_the_last, 4, 256) {
  auto* flag = reinterpret_cast<volatile uint32_t*>(t->block->shared);
  if (linear_thread(t) == 0) {
    *flag = 0;
    while (*flag == 0) services(t).yield(t);
    p.out[0] = *flag;
  }
  if (linear_thread(t) == block_threads(*t->block) - 1) *flag = 5;
}

// a rounds of a barrier over the whole grid, on out[0] (arrivals); out[1 + block] is checked by the neighbour.
FIBERS(grid_barrier, 0, 256) {
  const uint32_t blocks = t->block->grid[0] * t->block->grid[1] * t->block->grid[2], block = linear_block(*t->block);
  for (uint32_t round = 1; round <= p.a; ++round) {
    if (linear_thread(t) == 0) __atomic_store_n(&p.out[1 + block], round, __ATOMIC_RELAXED);
    services(t).barrier(t, 0, 0);
    if (linear_thread(t) == 0) {
      __atomic_fetch_add(&p.out[0], 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&p.out[0], __ATOMIC_ACQUIRE) < 2 * round * blocks - blocks) services(t).yield(t);
    }
    services(t).barrier(t, 0, 0);
    if (__atomic_load_n(&p.out[1 + (block + 1) % blocks], __ATOMIC_RELAXED) != round) services(t).trap(t);
    services(t).barrier(t, 0, 0);
    if (linear_thread(t) == 0) {
      __atomic_fetch_add(&p.out[0], 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&p.out[0], __ATOMIC_ACQUIRE) < 2 * round * blocks) services(t).yield(t);
    }
    services(t).barrier(t, 0, 0);
  }
}

// The last block traps, the others spin for good.
FIBERS(trap_or_spin, 0, 256) {
  if (linear_block(*t->block) == t->block->grid[0] - 1) services(t).trap(t);
  for (;;) services(t).yield(t);
}

FIBERS(print, 0, 4096) {
  struct {
    int32_t i;
    const char* s;
    double d;
    int64_t l;
    int32_t c;
  } arguments = {static_cast<int32_t>(linear_thread(t)), "word", 1.5, -1234567890123, 'x'};
  p.out[linear_thread(t)] = static_cast<uint32_t>(services(t).vprintf(t, "%d %s %.2f %lld %c%%\n", &arguments));
}

FIBERS(heap, 0, 256) {
  auto* own = static_cast<uint32_t*>(services(t).malloc(t, 64));
  own[15] = linear_thread(t);
  services(t).barrier(t, 0, 0);
  p.out[linear_thread(t)] = own[15];
  services(t).free(t, own);
  services(t).free(t, nullptr);
}

// Up to p.a pieces of p.b bytes; out[0]: how many there were.
FIBERS(allocate_to_the_end, 0, 256) {
  uint32_t pieces = 0;
  while (pieces < p.a && services(t).malloc(t, p.b) != nullptr) ++pieces;
  p.out[0] = pieces;
}

FIBERS(double_free, 0, 256) {
  void* own = services(t).malloc(t, 64);
  services(t).free(t, own);
  services(t).free(t, own);
}

FIBERS(assertion, 0, 256) {
  services(t).barrier(t, 0, 0);
  if (global_thread(t) == p.a) services(t).assert_fail(t, "n > 0", "app.cu", 12, "void check(int)");
}

FIBERS(assertion_with_controls, 0, 256) { services(t).assert_fail(t, "s != \"\x1b[2J\"", "app.cu", 12, "void check(int)"); }

FIBERS(trap, 0, 256) {
  if (global_thread(t) == p.a) services(t).trap(t);
  services(t).barrier(t, 0, 0);
}

// a: thread that reads through p.pointer.
FIBERS(bad_read, 0, 256) {
  services(t).barrier(t, 0, 0);
  if (linear_thread(t) == p.a) p.out[0] = *static_cast<volatile uint32_t*>(p.pointer);
  services(t).barrier(t, 0, 0);
}

static uint32_t recurse(uint32_t n, volatile uint32_t* sink) {
  volatile uint32_t frame[256];
  frame[n % 256] = n;
  if (n == 0) return *sink;
  return recurse(n - 1, sink) + frame[n % 256];
}
FIBERS(overflow, 0, 1024) { p.out[0] = recurse(p.a, p.out); }
FIBERS(unknown_stack, 0, 0) { p.out[linear_thread(t)] = recurse(p.a, p.out + 64) != 0; }

FIBERS(illegal, 0, 256) { __builtin_trap(); }

FIBERS(divide, 0, 256) {
  if (linear_thread(t) == 1) p.out[0] = p.a / p.b;
}

// Even threads at barrier 0, one of the odd ones at a shuffle for which the others do not come.
FIBERS(deadlock, 0, 256) {
  const uint32_t i = linear_thread(t);
  if (i == 1) services(t).warp_sync(t, ~0u);
  if (i != 3) services(t).barrier(t, 0, 0);
}

FIBERS(barrier_disagreement, 0, 256) { services(t).barrier(t, 1, t->warp == 0 ? 64 : 96); }
FIBERS(barrier_unknown, 0, 256) { services(t).barrier(t, 16, 0); }

FIBERS(shared_overrun, 64, 256) { t->block->shared[p.a] = 1; }

FIBERS(call_host, 0, 4096) {
  if (linear_thread(t) == 0) reinterpret_cast<void (*)()>(p.pointer)();
}

// For the measurement: p.a barriers.
FIBERS(barriers, 0, 256) {
  for (uint32_t i = 0; i < p.a; ++i) services(t).barrier(t, 0, 0);
  p.out[global_thread(t)] = 1;
}

FIBERS(clocks, 0, 256) {
  const uint64_t first = services(t).clock(t), timer = services(t).global_timer(t);
  services(t).barrier(t, 0, 0);
  p.out[0] = services(t).clock(t) > first && services(t).global_timer(t) >= timer;
}

EXPORTED const mneme_cpu_kernel __mneme_cpu_kernel_of_the_future = {99, MNEME_CPU_LOOP,     0,      0, 0, 0,
                                                                    0,  loop_indices_entry, nullptr};
// Of each thread: its lane, its wave, and the lanes that vote with it; thread p.a has ended before.
static void vote_by_wave(const Parameters& p, Thread* t) {
  const uint32_t linear = t->index[0];
  if (linear == p.a) return;
  const uint64_t lanes = services(t).wave_ballot(t, 1, 1);
  p.out[4 * linear] = t->lane, p.out[4 * linear + 1] = t->warp;
  p.out[4 * linear + 2] = static_cast<uint32_t>(lanes), p.out[4 * linear + 3] = static_cast<uint32_t>(lanes >> 32);
}
WAVES(vote_by_waves_of_64, 64) { vote_by_wave(p, t); }
WAVES(vote_by_waves_of_32, 32) { vote_by_wave(p, t); }

// Lanes below p.a come to site 2 first, others to site 1; all then meet at site 3. What each is told by lane 5, and at site 3 by
// the first.
WAVES(wave_sites, 64) {
  const uint32_t lane = t->lane;
  uint32_t there = 0;
  const uint64_t value = services(t).wave_read(t, lane < p.a ? 2 : 1, 100 + lane, 5, &there);
  p.out[3 * lane] = static_cast<uint32_t>(value), p.out[3 * lane + 1] = there;
  p.out[3 * lane + 2] = static_cast<uint32_t>(services(t).wave_read(t, 3, lane, MNEME_CPU_FIRST_LANE, &there));
}
WAVES(wave_push, 64) { p.out[t->lane] = static_cast<uint32_t>(services(t).wave_push(t, 1, t->lane, t->lane / 2 * 2)); }
WAVES(wave_in_stack, 32) {
  uint32_t own = 0;
  p.out[t->lane] = services(t).in_stack(t, &own) + 2 * services(t).in_stack(t, p.out);
}

EXPORTED const mneme_cpu_kernel __mneme_cpu_kernel_without_code = {MNEME_CPU_IMAGE_VERSION, MNEME_CPU_FIBERS, 0, 0, 0, 0, 0,
                                                                   loop_indices_entry,      nullptr};

static uint32_t counter[4] = {1, 2, 3, 4};
static const mneme_cpu_global globals[] = {{"counter", counter, sizeof counter, nullptr, 0, 0}};
EXPORTED const mneme_cpu_image __mneme_cpu_image = {MNEME_CPU_IMAGE_VERSION, 1, globals};
