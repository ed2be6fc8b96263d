// The other file of ../deployed_rdc.cu, to be compiled with it as relocatable device code.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__device__ int launches;
__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ float limit = 100;
static __device__ int calls[8];

__device__ float weigh(float value, int i) {
  atomicAdd(&calls[i % 8], 1);
  const float weighed = value * 0.5f + weights[i % 8];
  return weighed < limit ? weighed : limit;
}

__device__ int calls_of_parts() {
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum = sum * 3 + calls[i];
  return sum;
}

void change_parts(int round) {
  float changed[8];
  for (int i = 0; i < 8; ++i) changed[i] = static_cast<float>((i * round) % 5);
  const float most = 100 - static_cast<float>(round);
  if (cudaMemcpyToSymbol(weights, changed, sizeof changed) != cudaSuccess ||
      cudaMemcpyToSymbol(limit, &most, sizeof most) != cudaSuccess) {
    std::printf("a copy to a symbol failed\n");
    std::exit(1);
  }
}
