// Variables whose addresses the host alone takes, given to kernels in arguments and in memory.
#include <cuda_runtime.h>

#include <cstdio>
__device__ float unnamed[64];
__device__ float named[64];
__global__ void names(int n) {
  int i = threadIdx.x;
  if (i < n) named[i] += 1.0f;
}
__global__ void given(float* p, int n) {
  int i = threadIdx.x;
  if (i < n) p[i] += 2.0f;
}
__global__ void behind(float** p, int n) {
  int i = threadIdx.x;
  if (i < n) (*p)[i] += 4.0f;
}
__global__ void both(float** p, float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = named[i] + (*p)[n - 1 - i];
}
int main() {
  float *first, *second, *out, **box;
  cudaGetSymbolAddress((void**)&first, unnamed);
  cudaGetSymbolAddress((void**)&second, named);
  cudaMalloc((void**)&box, 2 * sizeof(float*));
  cudaMalloc((void**)&out, 64 * sizeof(float));
  float* const boxed[2] = {first, second};
  cudaMemcpy(box, boxed, sizeof boxed, cudaMemcpyHostToDevice);
  names<<<1, 64>>>(64);
  given<<<1, 64>>>(first, 64);
  behind<<<1, 64>>>(box, 64);
  behind<<<1, 64>>>(box + 1, 64);
  both<<<1, 64>>>(box + 1, out, 64);
  float results[2][64];
  cudaMemcpyFromSymbol(results[0], unnamed, sizeof results[0]);
  cudaMemcpy(results[1], out, sizeof results[1], cudaMemcpyDeviceToHost);
  printf("%g %g\n", results[0][17], results[1][17]);
  return cudaDeviceSynchronize();
}
