#include <cuda_runtime.h>
__device__ int shared_counter = 3;
static __device__ int hidden = 7;
extern __device__ int visible(int v);
__device__ int helper(int x) {
  hidden += x;
  return visible(hidden);
}
template <class T> __global__ void everywhere(T* p) { p[threadIdx.x] += T(1); }
static __global__ void local(int* p) { p[0] = 22; }
void other(int* p) {
  everywhere<int><<<1, 1>>>(p);
  local<<<1, 1>>>(p);
}
