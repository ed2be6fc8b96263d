// The kernels of the conformance suite.
#include <cooperative_groups.h>

#include <cassert>
#include <cstdio>

#include "conformance_kernels.h"

using namespace mneme::conformance;

extern "C" {
__device__ uint32_t counters[kGlobalCounters] = {10, 20, 30, 40};
__constant__ float table[kTableEntries];
}

namespace {

__device__ uint32_t thread_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ uint32_t block_in_grid() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
__device__ uint32_t thread_in_grid() { return block_in_grid() * blockDim.x * blockDim.y * blockDim.z + thread_in_block(); }

}  // namespace

extern "C" __global__ void write_indices(ThreadIndices* out) {
  out[thread_in_grid()] = {{threadIdx.x, threadIdx.y, threadIdx.z}, {blockIdx.x, blockIdx.y, blockIdx.z}};
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* sum, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

// Static shared memory holds the block's values, dynamic shared memory their reverse.
extern "C" __global__ void reverse_in_block(uint32_t* data) {
  __shared__ uint32_t values[kReverseThreads];
  extern __shared__ uint32_t reversed[];
  const uint32_t i = threadIdx.x, n = blockDim.x;
  values[i] = data[blockIdx.x * n + i];
  __syncthreads();
  reversed[i] = values[n - 1 - i];
  __syncthreads();
  data[blockIdx.x * n + i] = reversed[i];
}

extern "C" __global__ void read_globals(uint32_t* counter_sum, float* table_sum) {
  if (threadIdx.x != 0) return;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kGlobalCounters; ++i) sum += counters[i]++;
  *counter_sum = sum;
  float reals = 0;
  for (uint32_t i = 0; i < kTableEntries; ++i) reals += table[i];
  *table_sum = reals;
}

extern "C" __global__ void by_value(char first, Particle particle, short second, double* out) {
  out[0] = first;
  out[1] = particle.tag;
  out[2] = particle.position[0] + particle.position[1] * 10 + particle.position[2] * 100;
  out[3] = particle.charge;
  out[4] = static_cast<double>(particle.id);
  out[5] = particle.flags[0] + particle.flags[4];
  out[6] = second;
}

extern "C" __global__ void warp_collectives(const int32_t* in, WarpResults* out) {
  const uint32_t i = thread_in_grid(), lane = threadIdx.x % 32;
  const int32_t value = in[i];
  WarpResults results;
  int32_t sum = value;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  results.sum = __shfl_sync(0xffffffff, sum, 0);
  int32_t prefix = value;
  for (uint32_t offset = 1; offset < 32; offset *= 2) {
    const int32_t below = __shfl_up_sync(0xffffffff, prefix, offset);
    if (lane >= offset) prefix += below;
  }
  results.prefix = prefix;
  int32_t butterfly = value;
  for (int offset = 16; offset > 0; offset /= 2) butterfly += __shfl_xor_sync(0xffffffff, butterfly, offset);
  results.butterfly = butterfly;
  results.broadcast = __shfl_sync(0xffffffff, value, 5);
  results.segment = __shfl_sync(0xffffffff, value, 1, 8);
  results.ballot = __ballot_sync(0xffffffff, value & 1);
  results.all = __all_sync(0xffffffff, value < 1000) != 0;
  results.any = __any_sync(0xffffffff, value == 7) != 0;
  out[i] = results;
}

// Half of each warp is gone; the rest goes on with barriers and votes.
extern "C" __global__ void collectives_after_exit(uint32_t* out) {
  if (threadIdx.x % 2 == 1) return;
  const uint32_t even = __ballot_sync(0x55555555, 1);
  __syncthreads();
  out[threadIdx.x] = even;
}

extern "C" __global__ void barrier_reductions(uint32_t* out) {
  out[3 * threadIdx.x + 0] = __syncthreads_count(threadIdx.x % 3 == 0);
  out[3 * threadIdx.x + 1] = __syncthreads_and(threadIdx.x < 1000) != 0;
  out[3 * threadIdx.x + 2] = __syncthreads_or(threadIdx.x == 1000) != 0;
}

extern "C" __global__ void atomic_operations(AtomicResults* results) {
  const uint32_t i = thread_in_grid();
  atomicAdd(&results->add, static_cast<int32_t>(i));
  atomicMax(&results->maximum, static_cast<int32_t>(i * 7919 % 1009));
  atomicMin(&results->minimum, -static_cast<int32_t>(i));
  atomicOr(&results->bits_or, 1u << (i % 32));
  atomicAnd(&results->bits_and, ~(1u << (i % 8)));
  atomicXor(&results->bits_xor, i);
  uint32_t seen = results->compared, expected;
  do {
    expected = seen;
    seen = atomicCAS(&results->compared, expected, expected + 2);
  } while (seen != expected);
  if (atomicExch(&results->exchanged, 5) % 5 != 0) atomicAdd(&results->add, 1 << 30);
  atomicAdd(reinterpret_cast<unsigned long long*>(&results->wide), 1ull << 33);
  atomicAdd(&results->real, 0.5f);
  atomicInc(&results->wrapped, 99);
}

// One addition for the lanes that come here together.
extern "C" __global__ void aggregated_count(const uint32_t* keys, uint32_t* count, uint32_t* places) {
  const uint32_t i = thread_in_grid();
  if (keys[i] % 3 != 0) return;
  const uint32_t together = __activemask(), lane = threadIdx.x % 32;
  const int leader = __ffs(together) - 1;
  uint32_t first = 0;
  if (lane == static_cast<uint32_t>(leader)) first = atomicAdd(count, __popc(together));
  first = __shfl_sync(together, first, leader);
  places[first + __popc(together & ((1u << lane) - 1))] = i;
}

extern "C" __global__ void group_sums(const int32_t* in, int32_t* out) {
  namespace cg = cooperative_groups;
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  int32_t sum = in[block.thread_rank()];
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_xor(sum, offset);
  block.sync();
  out[block.thread_rank()] = sum + static_cast<int32_t>(tile.meta_group_rank()) * 1000;
}

extern "C" __global__ void match_lanes(const uint64_t* in, uint32_t* out) {
  int all = 0;
  out[3 * threadIdx.x] = __match_any_sync(0xffffffff, static_cast<unsigned long long>(in[threadIdx.x]));
  out[3 * threadIdx.x + 1] = __match_all_sync(0xffffffff, static_cast<unsigned long long>(in[0]), &all);
  out[3 * threadIdx.x + 2] = all;
}

namespace {
__device__ __noinline__ uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ uint32_t twice(uint32_t n) { return 2 * n; }
__device__ uint32_t (*const functions[])(uint32_t) = { fibonacci, twice };
}  // namespace

// Recursion through a table of function pointers, with a barrier in between.
extern "C" __global__ void call_by_pointer(uint32_t* out) {
  const uint32_t value = functions[threadIdx.x % 2](threadIdx.x % 16);
  __syncthreads();
  out[threadIdx.x] = value;
}

extern "C" __global__ void heap(uint32_t* out) {
  uint32_t* own = static_cast<uint32_t*>(malloc(40 * sizeof(uint32_t)));
  if (own == nullptr) return;
  for (uint32_t k = 0; k < 40; ++k) own[k] = threadIdx.x + k;
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t k = 0; k < 40; ++k) sum += own[k];
  free(own);
  out[threadIdx.x] = sum;
}

// Two warps hand over a value each way through barriers of their own.
extern "C" __global__ void named_barriers(uint32_t* out) {
  __shared__ uint32_t value;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) value = 1;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[threadIdx.x] = value;
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    const uint32_t seen = value;
    __syncwarp();
    if (threadIdx.x == 32) value = seen + 1;
    asm volatile("bar.arrive 2, 64;" ::: "memory");
    out[threadIdx.x] = seen;
  }
}

extern "C" __global__ void mathematics(const double* in, double* out, float* singles) {
  const uint32_t i = threadIdx.x;
  out[i] = sin(in[i]) + exp(-in[i]) + pow(in[i] + 1, 1.5) + sqrt(in[i]) + fma(in[i], 2.0, 1.0) + floor(in[i]);
  singles[i] = sinf(static_cast<float>(in[i])) + expf(-static_cast<float>(in[i])) + rsqrtf(static_cast<float>(in[i]) + 1);
}

extern "C" __global__ void print(int32_t number, double real) {
  if (threadIdx.x == 0) printf("number %d, real %.3f, %s %c %llu\n", number, real, "string", 'c', 1ull << 40);
}

extern "C" __global__ void busy(uint32_t iterations, uint32_t* out) {
  uint32_t state = thread_in_grid();
  for (uint32_t k = 0; k < iterations; ++k) state = state * 1664525 + 1013904223;
  out[thread_in_grid()] = state;
}

// Blocks wait for one another: `rounds` times all of the grid.
extern "C" __global__ void grid_rounds(uint32_t* arrivals, uint32_t* written, uint32_t* wrong, uint32_t rounds) {
  volatile uint32_t* count = arrivals;
  for (uint32_t round = 1; round <= rounds; ++round) {
    for (uint32_t phase = 0; phase < 2; ++phase) {
      if (phase == 0 && threadIdx.x == 0) atomicExch(&written[blockIdx.x], round);
      if (phase == 1 && threadIdx.x == 0 && atomicAdd(&written[(blockIdx.x + 1) % gridDim.x], 0) != round) atomicAdd(wrong, 1);
      __syncthreads();
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrivals, 1);
        while (*count < (2 * round - 1 + phase) * gridDim.x) {
        }
      }
      __syncthreads();
    }
  }
}

extern "C" __global__ void write_to(uint32_t* address) { *address = 1; }

extern "C" __global__ void trap_if(int32_t condition) {
  if (condition != 0) __trap();
}

extern "C" __global__ void assert_positive(int32_t n) { assert(n > 0); }
