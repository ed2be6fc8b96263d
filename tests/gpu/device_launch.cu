// Kernels that launch kernels (built with -rdc=true -lcudadevrt): each thread of the parent has a row filled by a child, and that
// has it summed by a child of its own. The parent's arguments lead to the rows, and nothing but the code to the variable with the
// sums.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRows = 64, kColumns = 100;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

__device__ int sums[kRows];

__global__ void sum(const int* row, int which) {
  int all = 0;
  for (int i = 0; i < kColumns; ++i) all += row[i];
  sums[which] = all;
}
__global__ void fill(int* row, int which) {
  for (int i = threadIdx.x; i < kColumns; i += blockDim.x) row[i] += which;
  __syncthreads();
  if (threadIdx.x == 0) sum<<<1, 1>>>(row, which);
}
__global__ void parent(int** rows) {
  const int which = blockIdx.x * blockDim.x + threadIdx.x;
  if (which < kRows) fill<<<1, 32>>>(rows[which], which);
}

}  // namespace

int main() {
  int** rows;
  int* row[kRows];
  CHECK(cudaMalloc(&rows, sizeof row));
  for (int*& one : row) {
    CHECK(cudaMalloc(&one, kColumns * sizeof(int)));
    CHECK(cudaMemset(one, 0, kColumns * sizeof(int)));
  }
  CHECK(cudaMemcpy(rows, row, sizeof row, cudaMemcpyHostToDevice));
  for (int time = 1; time <= 2; ++time) {
    parent<<<2, kRows / 2>>>(rows);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    int found[kRows], wrong = 0;
    CHECK(cudaMemcpyFromSymbol(found, sums, sizeof found));
    for (int i = 0; i < kRows; ++i) wrong += found[i] != time * kColumns * i;
    std::printf("%d rows are wrong, the last has %d\n", wrong, found[kRows - 1]);
  }
}
