// A kernel that calls itself deeper than the stack that CUDA gives a thread allows (1 KiB): the program asks for more
// (cudaDeviceSetLimit). Prints a sum, and what the limit is at the end. A replay of the launch has to ask for as much.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kCount = 4096, kDepth = 150;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

// Each call keeps an array that the next one writes to, so that it needs a frame of its own.
__device__ __noinline__ unsigned deeper(unsigned* above, unsigned value, int depth) {
  unsigned mine[16];
  for (unsigned i = 0; i < 16; ++i) mine[i] = above[(i + value) % 16] * 3 + i;
  const unsigned below = depth > 0 ? deeper(mine, value + mine[value % 16], depth - 1) : 1;
  above[below % 16] += mine[(value + 7) % 16];
  return below + mine[below % 16];
}

__global__ void recurse(unsigned* out, int depth) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned first[16];
  for (unsigned k = 0; k < 16; ++k) first[k] = i * k + 1;
  if (i < kCount) out[i] = deeper(first, i, depth + static_cast<int>(i % 3));
}

}  // namespace

int main() {
  unsigned *out, *host = new unsigned[kCount];
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  CHECK(cudaMalloc(&out, kCount * sizeof *out));
  CHECK(cudaMemset(out, 0, kCount * sizeof *out));
  recurse<<<kCount / 128, 128>>>(out, kDepth);
  CHECK(cudaMemcpy(host, out, kCount * sizeof *out, cudaMemcpyDeviceToHost));
  unsigned long long sum = 0;
  for (int i = 0; i < kCount; ++i) sum += host[i];
  size_t limit = 0;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  std::printf("%llu, with a stack of %zu bytes\n", sum, limit);
  return 0;
}
