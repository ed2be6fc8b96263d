// Relocatable device code: kernels here, and the variables and functions that they use in parts/deployed_rdc_parts.cu. Both files
// have a static variable of one name, which the host does not name (clang 22 links no such one). The host changes the others
// between launches, by copies to their symbols and to their addresses, and prints what came out.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

extern __device__ int launches;
extern __constant__ float weights[8];
__device__ float weigh(float value, int i);
__device__ int calls_of_parts();

static __device__ int calls;
__device__ float shift;
__constant__ int step = 1;

__global__ void mix(float* data, const float* other, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = weigh(data[i], i) + other[i] * weights[(i + step) % 8] + shift;
  if (i == 0) atomicAdd(&launches, step);
  atomicAdd(&calls, 1);
}

// The variables that only kernels know.
__global__ void report(int* out) {
  out[0] = calls;
  out[1] = calls_of_parts();
}

static void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

void change_parts(int round);  // in the other file: its symbols are known there

constexpr int kCount = 4096;

int main() {
  float *data, *other;
  std::vector<float> numbers(kCount);
  for (int i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i % 64);
  CHECK(cudaMalloc(&data, kCount * sizeof(float)));
  CHECK(cudaMalloc(&other, kCount * sizeof(float)));
  CHECK(cudaMemset(data, 0, kCount * sizeof(float)));
  CHECK(cudaMemcpy(other, numbers.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, shift));
  for (int round = 1; round <= 6; ++round) {
    mix<<<kCount / 128, 128>>>(data, other, kCount);
    const float shifted = 0.25f * static_cast<float>(round);
    CHECK(cudaMemcpy(address, &shifted, sizeof shifted, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(step, &round, sizeof round));
    change_parts(round);
    std::vector<float> host(kCount);
    CHECK(cudaMemcpy(host.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < kCount; ++i) sum += static_cast<double>(host[i]) * (i % 17 + 1);
    int count = 0;
    CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
    std::printf("round %d: %.6f, launches %d\n", round, sum, count);
  }
  int *counts, of_both[2];
  CHECK(cudaMalloc(&counts, sizeof of_both));
  report<<<1, 1>>>(counts);
  CHECK(cudaMemcpy(of_both, counts, sizeof of_both, cudaMemcpyDeviceToHost));
  std::printf("calls %d, of the other file %d\n", of_both[0], of_both[1]);
  std::printf("deployed_rdc: PASS\n");
  return 0;
}
