// What hip_api.hip loads while it runs.
#include <hip/hip_runtime.h>
extern "C" __device__ int factor = 3;
extern "C" __global__ void triple(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
