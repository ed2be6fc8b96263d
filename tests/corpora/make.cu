// Makes the corpora: one launch that reads an array and a __constant__ table, and counts in a __device__ variable.
#include <mneme/annotate.h>

#include <cstdio>
#include <vector>
__constant__ int table[4];
__device__ int odd;
__global__ void scale(int* data, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  data[i] = data[i] * factor + table[i % 4];
  if (data[i] % 2) atomicAdd(&odd, 1);
}
int main() {
  const int n = 40000, values[4] = {5, 6, 7, 8};
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i;
  int* unused;
  int* data;
  if (cudaMalloc(&unused, 100) || cudaMemset(unused, 7, 100) || cudaMalloc(&data, n * sizeof(int))) return 1;
  if (cudaMemcpy(data, host.data(), n * sizeof(int), cudaMemcpyHostToDevice) || cudaMemcpyToSymbol(table, values, sizeof values)) return 2;
  mneme::annotate(data, {MNEME_I32, 1, MNEME_ABSOLUTE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "scaled"});
  scale<<<(n + 127) / 128, 128>>>(data, n, 3);
  return cudaDeviceSynchronize();
}
