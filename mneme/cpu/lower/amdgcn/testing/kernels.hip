// Kernels of the tests, which clang compiles to LLVM IR for AMD GPUs while Mneme is built.
#include <hip/hip_runtime.h>

#ifndef __AMDGCN_WAVEFRONT_SIZE
#define __AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__
#endif

#define KERNEL extern "C" __global__ void

KERNEL add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

struct Numbers {
  char first;
  double values[3];
  short last;
};
KERNEL by_value(char tag, Numbers numbers, double* out) {
  numbers.values[1] += threadIdx.x;
  out[threadIdx.x] = tag + numbers.first + numbers.values[threadIdx.x % 3] + numbers.last;
}

// Everything that a work-item knows of its place, as ten words.
KERNEL places(unsigned* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned* mine = out + 10 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  mine[0] = threadIdx.x, mine[1] = threadIdx.y, mine[2] = threadIdx.z;
  mine[3] = blockIdx.x, mine[4] = blockIdx.y, mine[5] = blockIdx.z;
  mine[6] = gridDim.x, mine[7] = gridDim.y, mine[8] = gridDim.z;
  mine[9] = warpSize;
}

__device__ int counter = 5;
__constant__ int table[4] = {10, 20, 30, 40};
KERNEL globals(int* out) {
  out[threadIdx.x] = table[threadIdx.x & 3];
  if (threadIdx.x == 0) out[0] += counter++;
}

// A local array that stays one, of which pointers go through memory.
struct Node {
  int value;
  Node* next;
};
__device__ __attribute__((noinline)) int sum_of(const Node* node) {
  int sum = 0;
  for (; node; node = node->next) sum += node->value;
  return sum;
}
KERNEL private_memory(int* out, int count) {
  Node nodes[8];
  for (int i = 0; i < count; ++i) nodes[i] = {static_cast<int>(threadIdx.x) + i, i + 1 < count ? &nodes[i + 1] : nullptr};
  out[threadIdx.x] = sum_of(nodes);
}

KERNEL reverse(const float* in, float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

KERNEL block_sum(const int* in, int* out) {
  __shared__ int partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

KERNEL dynamic_lds(int* out, int n) {
  extern __shared__ int words[];
  __shared__ int fixed[3];
  if (threadIdx.x < 3) fixed[threadIdx.x] = 100 * threadIdx.x;
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[(threadIdx.x + 1) % n] + fixed[threadIdx.x % 3];
}

// Pointers of 32 bits in registers, in memory, as integers, and null.
typedef __attribute__((address_space(3))) int lds_int;
struct Places {
  lds_int* where[2];
  int tag;
};
KERNEL lds_pointers(int* out) {
  __shared__ int cells[64];
  __shared__ Places places;
  cells[threadIdx.x] = 7 * threadIdx.x;
  if (threadIdx.x == 0) places = {{(lds_int*)&cells[3], (lds_int*)nullptr}, 11};
  __syncthreads();
  int result = sizeof(Places) * 1000 + places.tag;
  if (places.where[0]) result += *(places.where[0] + threadIdx.x % 4);
  if (!places.where[1]) result += 100000;
  const unsigned number = (unsigned)(unsigned long)(lds_int*)&cells[threadIdx.x];
  result += *((lds_int*)(unsigned long)(number - 4 * (threadIdx.x % 2)));
  if ((int*)places.where[1] == nullptr) result += 200000;
  out[threadIdx.x] = result;
}
