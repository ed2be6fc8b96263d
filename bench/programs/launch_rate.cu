// What a launch of a small kernel takes in its caller: prints the least time per launch, in ns, of 20 runs of 500 launches.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>

__global__ void step(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 0.5f + 1.0f;
}

int main() {
  constexpr int kCount = 256, kRuns = 20, kLaunches = 500;
  float* data = nullptr;
  if (cudaMalloc(&data, kCount * sizeof(float)) != cudaSuccess || cudaMemset(data, 0, kCount * sizeof(float)) != cudaSuccess)
    return 1;
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (int launch = 0; launch < kLaunches; ++launch) step<<<kCount / 128, 128>>>(data, kCount);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    if (taken.count() / kLaunches < best) best = taken.count() / kLaunches;
  }
  std::printf("%.1f\n", best);
  return 0;
}
