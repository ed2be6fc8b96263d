#include <cuda_runtime.h>
extern __device__ int shared_counter;
extern __device__ int helper(int x);
static __device__ int hidden = 5;
static __device__ int bump(int v) { return hidden += v; }
__device__ int visible(int v) { return bump(v) + 1; }
template <class T> __global__ void everywhere(T* p) { p[threadIdx.x] += T(1); }
__global__ void k(int* p) {
  p[0] = helper(p[1]) + bump(2);
  atomicAdd(&shared_counter, 1);
}
static __global__ void local(int* p) { p[0] = 11; }
void other(int*);
int main() {
  int* p;
  cudaMalloc(&p, 64);
  k<<<1, 1>>>(p);
  everywhere<int><<<1, 1>>>(p);
  local<<<1, 1>>>(p);
  other(p);
}
