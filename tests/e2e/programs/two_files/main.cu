// A kernel that calls a function and reads a variable of device.cu.
#include <cstdio>
extern __device__ int offset;
__device__ int twice(int x);
__global__ void fill(int* out) { out[threadIdx.x] = twice(threadIdx.x) + offset; }
int main() {
  int *device, host[64];
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 2;
  fill<<<1, 64>>>(device);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  for (int i = 0; i < 64; ++i)
    if (host[i] != 2 * i + 10) return 4;
  std::puts("rdc: PASS");
}
