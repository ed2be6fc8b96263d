// One source for both vendors: what is recorded of it differs in the target and the code alone.
#include <cstdio>
#include <vector>

#include "vendor.h"
__device__ int bias = 3;
__constant__ float weights[4] = {1, 2, 3, 4};
struct Range {
  int first, count;
};
__global__ void weigh(float* out, const float* in, Range range) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < range.count) out[range.first + i] = in[range.first + i] * weights[i & 3] + bias;
}
__global__ void sum(float* out, const float* in, int n) {
  __shared__ float tile[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
int main() {
  const int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = i;
  float *in, *out, *sums;
  VENDOR(Malloc)((void**)&in, n * 4);
  VENDOR(Malloc)((void**)&out, n * 4);
  VENDOR(Malloc)((void**)&sums, 8 * 4);
  VENDOR(Memcpy)(in, host.data(), n * 4, VENDOR(MemcpyHostToDevice));
  VENDOR(Memset)(out, 0, n * 4);
  weigh<<<8, 128>>>(out, in, {0, n});
  int four = 4;
  VENDOR(MemcpyToSymbol)(bias, &four, 4);
  weigh<<<4, 128>>>(out, in, {500, 500});
  sum<<<8, 128>>>(sums, out, n);
  VENDOR(Memcpy)(host.data(), sums, 32, VENDOR(MemcpyDeviceToHost));
  std::printf("%.1f %.1f: %s\n", host[0], host[7], VENDOR(GetErrorName)(VENDOR(DeviceSynchronize)()));
}
