#include <cuda_runtime.h>
struct Pair { float first; double second; };
__constant__ float coefficients[4];
__device__ int counter;
__global__ __launch_bounds__(128, 2) void bound(float* out, Pair pair, int n) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? pair.first * coefficients[i & 3] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[blockDim.x - 1 - threadIdx.x] + expf(out[i]);
  atomicAdd(&counter, 1);
}
template <class T> __global__ void generic(T* out, int n) { out[threadIdx.x] = n * T(blockDim.y); }
int main() {
  bound<<<1, 128, 512>>>(nullptr, Pair{}, 0);
  generic<<<1, 1>>>(static_cast<double*>(nullptr), 1);
}
