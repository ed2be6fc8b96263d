# Variables that a kernel reaches only by pointers: through an argument, and through another variable that holds the address.
cat >app.cu <<'C'
#include <cstdio>
#include <cuda_runtime.h>
__device__ float table[1024];
__device__ float* where = table;
__global__ void direct(float* p, int n) { int i = threadIdx.x; if (i < n) p[i] += 1.0f; }
__global__ void indirect(int n) { int i = threadIdx.x; if (i < n) where[i] *= 2.0f; }
int main() {
  float* p;
  cudaGetSymbolAddress((void**)&p, table);
  direct<<<1, 256>>>(p, 256);
  indirect<<<1, 256>>>(256);
  float out[256];
  cudaMemcpyFromSymbol(out, table, sizeof out);
  printf("%g\n", out[17]);
  return cudaDeviceSynchronize();
}
C
compile app.cu app
expect 0 mneme record -rdb db --device cpu -- ./app
[ "$(cat out)" = 2 ] || fail "the program's result"
expect 0 mneme ls --json db
[ "$(json out 'len(d["kernels"])')" = 2 ] || fail "two kernels"
for kernel in db/[0-9a-f]*.json; do expect 0 mneme replay -rdb "$kernel" --device cpu; done
