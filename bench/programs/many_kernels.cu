// A hundred kernels, each with an array of its own, and rounds in which each runs once.
//
//   many_kernels [KIB [ROUNDS]]
#include <utility>
#include <vector>

#include "../../examples/check.h"

constexpr int kKernels = 100;

template <int kNumber>
__global__ void step(unsigned* data, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    data[i] = data[i] * 1664525u + 1013904223u + kNumber + i;
}

using Step = void (*)(unsigned*, int);

template <int... kNumbers>
std::vector<Step> all_steps(std::integer_sequence<int, kNumbers...>) {
  return {step<kNumbers>...};
}

int main(int argc, char** argv) {
  const int kib = size_argument(argc, argv, 1, 1024, 1 << 20);
  const int rounds = size_argument(argc, argv, 2, 1, 1 << 20);
  const int n = kib * 256;
  const std::vector<Step> steps = all_steps(std::make_integer_sequence<int, kKernels>());
  std::vector<unsigned*> data(kKernels);
  for (unsigned*& array : data) {
    CHECK(cudaMalloc(&array, sizeof(unsigned) * n));
    CHECK(cudaMemset(array, 1, sizeof(unsigned) * n));
  }
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < kKernels; ++i) steps[i]<<<64, 256>>>(data[i], n);
  CHECK(cudaDeviceSynchronize());
  unsigned last = 0;
  CHECK(cudaMemcpy(&last, data[kKernels - 1], sizeof last, cudaMemcpyDeviceToHost));
  return finish("many_kernels", last != 0x01010101u);
}
