// c = a + b, as often as asked.
//
//   vecadd [ELEMENTS [REPEATS]]
#include <vector>

#include "../check.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const int n = size_argument(argc, argv, 1, 100000, 1 << 30);
  const int repeats = size_argument(argc, argv, 2, 1, 1 << 30);
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i % 1000);
    b[i] = 0.5f * static_cast<float>(i % 77);
  }

  const size_t bytes = sizeof(float) * static_cast<size_t>(n);
  float *device_a, *device_b, *device_c;
  CHECK(cudaMalloc(&device_a, bytes));
  CHECK(cudaMalloc(&device_b, bytes));
  CHECK(cudaMalloc(&device_c, bytes));
  CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  const int blocks = (n + 255) / 256 < 1024 ? (n + 255) / 256 : 1024;
  for (int i = 0; i < repeats; ++i) add<<<blocks, 256>>>(device_a, device_b, device_c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_c));

  int wrong = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    wrong += c[i] != a[i] + b[i];
    sum += c[i];
  }
  std::printf("vecadd: %d elements, sum %.1f, %d wrong\n", n, sum, wrong);
  return finish("vecadd", wrong == 0);
}
