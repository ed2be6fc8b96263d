// Compiled by clang alone, without ROCm, for several architectures: what code_bundle_test.cc reads.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __managed__ __attribute__((managed))
__device__ int counter = 5;
__device__ __managed__ int counted[2] = {7, 8};
__device__ __managed__ int zeroed;
struct Pair {
  char tag;
  long value;
};
__global__ void add(int* out, Pair pair, int n) { out[n] += pair.value + counter; }
__global__ void clear(int* out) { *out = 0; }
