#include <cuda_runtime.h>

// Two kernels that leave memory as it was: the driver for tests, which runs none, does them right.
__device__ float lowest = 0;

__global__ void keep(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && values[i] < 0) values[i] = 0;
}
__global__ void keep_variable(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && values[i] < lowest) lowest = values[i];
}

int main() {
  constexpr int kN = 1024;
  float* values = nullptr;
  if (cudaMalloc(&values, kN * sizeof(float)) != cudaSuccess || cudaMemset(values, 0, kN * sizeof(float)) != cudaSuccess)
    return 1;
  keep<<<kN / 256, 256>>>(values, kN);
  keep_variable<<<kN / 256, 256>>>(values, kN);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
