// What hip_api.hip loads while it runs.
#include <hip/hip_runtime.h>
extern "C" __device__ int factor = 3;
extern "C" __managed__ int managed[3] = {5, 6, 7};
extern "C" __global__ void use_managed(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = managed[i & 1];
  if (i == 0) managed[2] += 1;
}
extern "C" __global__ void triple(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
