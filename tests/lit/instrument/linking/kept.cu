// A kernel's segment stands in the cubin, whole, at every optimisation level.
// RUN: %mneme-cuda -O0 -c %s -o %t.O0.cubin && %segments %t.O0.cubin | FileCheck %s
// RUN: %mneme-cuda -O3 -c %s -o %t.O3.cubin && %segments %t.O3.cubin | FileCheck %s
// CHECK: segment kernel _Z5scalePffi
// CHECK: 1 segments
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
