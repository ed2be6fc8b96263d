// A kernel that ends when its blocks have the width that memory says, and never otherwise.
#include <cstdio>

__global__ void wait_for_width(volatile unsigned* width, unsigned* seen) {
  while (*width != blockDim.x) continue;
  seen[threadIdx.x] = blockDim.x;
}

int main() {
  unsigned *memory, width = 32;
  if (cudaMalloc(&memory, 64 * sizeof(unsigned)) != cudaSuccess) return 1;
  cudaMemset(memory, 0, 64 * sizeof(unsigned));
  cudaMemcpy(memory, &width, sizeof width, cudaMemcpyHostToDevice);
  wait_for_width<<<1, width>>>(memory, memory + 1);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::puts("patient: PASS");
  return 0;
}
