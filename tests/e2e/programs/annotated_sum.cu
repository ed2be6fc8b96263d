// A sum of which the program says, with -DANNOTATED, how far it may differ. For both vendors.
#include <mneme/annotate.h>

#include <cstdio>
#include <cstdlib>
__device__ float largest[4];
// Each thread adds up its share, so another launch shape rounds in other places.
__global__ void sum(const float* values, int n, float* total) {
  float share = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) share += values[i];
  atomicAdd(total, share);
  atomicAdd(&largest[threadIdx.x % 4], share);
}
int main() {
  const int n = 1 << 16;
  float* host = static_cast<float*>(std::malloc(n * sizeof(float)));
  for (int i = 0; i < n; ++i) host[i] = 1.0f / (1 + i % 97);
  float *values, *total;
  if (cudaMalloc(&values, n * sizeof(float)) || cudaMalloc(&total, 16 * sizeof(float)) ||
      cudaMemset(total, 0, 16 * sizeof(float)))
    return 90;
  if (cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice)) return 91;
#ifdef ANNOTATED
  mneme::annotate(total + 0, 1, {MNEME_F32, 1e-4, MNEME_RELATIVE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "total"});
  mneme::annotate(largest, {MNEME_F32, 1e-4, MNEME_RELATIVE, MNEME_L2});
  mneme::annotate(host, 1, {MNEME_F32, 1});
#endif
  sum<<<32, 128>>>(values, n, total);
  float result = 0;
  if (cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost)) return 92;
  std::printf("%.1f\n", result);
  return cudaFree(total) || cudaFree(values);
}
