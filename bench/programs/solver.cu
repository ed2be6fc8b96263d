// The conjugate gradient method on a matrix that is made on the device, so that hardly any time is set-up: a row has 27 entries
// with their columns, and the vectors are a tenth of the memory.
//
//   solver [MIB [ITERATIONS]]
#include <chrono>

#include "../../examples/check.h"

constexpr int kEntries = 27;
constexpr int kBlock = 256;

__global__ void assemble(double* values, int* columns, double* x, double* r, double* p, int rows) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    for (int k = 0; k < kEntries; ++k) {
      const int column = row + (k - kEntries / 2) * 37;
      columns[static_cast<size_t>(k) * rows + row] = column < 0 ? 0 : column >= rows ? rows - 1 : column;
      values[static_cast<size_t>(k) * rows + row] = k == kEntries / 2 ? 27.0 : -1.0 / (1 + (row & 7));
    }
    x[row] = 0;
    r[row] = p[row] = 1.0 + (row % 1000) * 1e-3;
  }
}

__global__ void multiply(const double* values, const int* columns, const double* p, double* q, int rows) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int k = 0; k < kEntries; ++k)
      sum += values[static_cast<size_t>(k) * rows + row] * p[columns[static_cast<size_t>(k) * rows + row]];
    q[row] = sum;
  }
}

__global__ void dot(const double* a, const double* b, double* out, int rows) {
  __shared__ double partial[kBlock];
  double sum = 0;
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) sum += a[row] * b[row];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

__global__ void advance(double* x, double* r, const double* p, const double* q, double alpha, int rows) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    x[row] += alpha * p[row];
    r[row] -= alpha * q[row];
  }
}

__global__ void turn(double* p, const double* r, double beta, int rows) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x)
    p[row] = r[row] + beta * p[row];
}

template <typename T>
T* allocate(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

int main(int argc, char** argv) {
  const int mib = size_argument(argc, argv, 1, 2048, 1 << 17);
  const int iterations = size_argument(argc, argv, 2, 1, 1 << 20);
  constexpr size_t kRowBytes = kEntries * (sizeof(double) + sizeof(int)) + 4 * sizeof(double);
  const int rows = static_cast<int>((static_cast<size_t>(mib) << 20) / kRowBytes);
  const int blocks = rows / kBlock < 1024 ? rows / kBlock + 1 : 1024;
  auto* values = allocate<double>(static_cast<size_t>(kEntries) * rows);
  auto* columns = allocate<int>(static_cast<size_t>(kEntries) * rows);
  auto *x = allocate<double>(rows), *r = allocate<double>(rows), *p = allocate<double>(rows), *q = allocate<double>(rows);
  auto* sums = allocate<double>(blocks);
  double host[1024];

  const auto begin = std::chrono::steady_clock::now();
  const auto product = [&](const double* a, const double* b) {
    dot<<<blocks, kBlock>>>(a, b, sums, rows);
    CHECK(cudaMemcpy(host, sums, blocks * sizeof(double), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < blocks; ++i) sum += host[i];
    return sum;
  };
  assemble<<<blocks, kBlock>>>(values, columns, x, r, p, rows);
  double rr = product(r, r);
  const double first = rr;
  for (int i = 0; i < iterations; ++i) {
    multiply<<<blocks, kBlock>>>(values, columns, p, q, rows);
    const double alpha = rr / product(p, q);
    advance<<<blocks, kBlock>>>(x, r, p, q, alpha, rows);
    const double next = product(r, r);
    turn<<<blocks, kBlock>>>(p, r, next / rr, rows);
    rr = next;
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("kernels %.6f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return finish("solver", rr < first);
}
