// Two kernels and what they call: a long function that only one of them calls, and that other files could call, too; one that is
// static; and a template's. How they are optimised depends on who else may call them.
#include <cuda_runtime.h>

#include <cstdio>

#define STEP x = sqrtf(x * a + b) * x - a / (x + 2.0f)
#define STEPS STEP, STEP, STEP, STEP, STEP, STEP, STEP, STEP
#define MANY_STEPS STEPS, STEPS, STEPS, STEPS, STEPS, STEPS, STEPS, STEPS

__device__ float settle(float x, float a, float b) {
  MANY_STEPS, MANY_STEPS;
  return x;
}

static __device__ float settle_alone(float x, float a, float b) {
  MANY_STEPS, MANY_STEPS;
  return x;
}

template <typename Number>
__device__ Number settle_any(Number x, Number a, Number b) {
  MANY_STEPS, MANY_STEPS;
  return x;
}

__global__ void relax(float* y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = settle(y[i], a, b) * a + b;
}

__global__ void relax_alone(float* y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = settle_alone(y[i], a, b) * a + b;
}

__global__ void relax_any(float* y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = settle_any<float>(y[i], a, b) * a + b;
}

int main() {
  constexpr int kSize = 1000;
  float* y = nullptr;
  cudaMalloc(&y, kSize * sizeof(float));
  float host[kSize];
  for (int i = 0; i < kSize; ++i) host[i] = 1.0f + i;
  cudaMemcpy(y, host, sizeof host, cudaMemcpyHostToDevice);
  relax<<<4, 256>>>(y, 0.5f, 2.0f, kSize);
  relax_alone<<<4, 256>>>(y, 0.5f, 2.0f, kSize);
  relax_any<<<4, 256>>>(y, 0.5f, 2.0f, kSize);
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[kSize - 1]);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
