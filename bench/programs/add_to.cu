// a += b: a vector add whose memory is two arrays.
//
//   add_to [ELEMENTS]
#include <vector>

#include "../../examples/check.h"

__global__ void add_to(float* a, const float* b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] += b[i];
}

int main(int argc, char** argv) {
  const int n = size_argument(argc, argv, 1, 100000, 1 << 30);
  std::vector<float> a(n), b(n), sums(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i % 1000);
    b[i] = 0.5f * static_cast<float>(i % 77);
  }

  const size_t bytes = sizeof(float) * static_cast<size_t>(n);
  float *device_a, *device_b;
  CHECK(cudaMalloc(&device_a, bytes));
  CHECK(cudaMalloc(&device_b, bytes));
  CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  const int blocks = (n + 255) / 256 < 1024 ? (n + 255) / 256 : 1024;
  add_to<<<blocks, 256>>>(device_a, device_b, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums.data(), device_a, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));

  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sums[i] != a[i] + b[i];
  std::printf("add_to: %d elements, %d wrong\n", n, wrong);
  return finish("add_to", wrong == 0);
}
