// When a small program has come how far, for bench/deployed_start.py: prints the monotonic clock in ns at the begin of main(),
// with the driver started, with a context, with memory, behind the first launch, behind 1000 more, and at the end of main(). With
// "hold" it waits for the end of its input before it ends, and keeps the GPU meanwhile.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <ctime>

__global__ void step(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 0.5f + 1.0f;
}

static void print_time() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  std::printf("%lld ", 1000000000ll * time.tv_sec + time.tv_nsec);
}

int main(int count, char** arguments) {
  print_time();
  constexpr int kCount = 256;
  int devices = 0;
  float* data = nullptr;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) return 1;
  print_time();
  if (cudaFree(nullptr) != cudaSuccess) return 1;
  print_time();
  if (cudaMalloc(&data, kCount * sizeof(float)) != cudaSuccess || cudaMemset(data, 0, kCount * sizeof(float)) != cudaSuccess)
    return 1;
  print_time();
  step<<<kCount / 128, 128>>>(data, kCount);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  print_time();
  for (int launch = 0; launch < 1000; ++launch) step<<<kCount / 128, 128>>>(data, kCount);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  print_time();
  if (count > 1 && std::strcmp(arguments[1], "hold") == 0) {
    std::printf("held\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) continue;
  }
  if (cudaFree(data) != cudaSuccess) return 2;
  print_time();
  std::printf("\n");
  return 0;
}
