// REQUIRES: rocm
// What heap.cu asks of CUDA, of HIP, whose heap is in a library of device functions.
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O2 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O0 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// CHECK: demangled frees(int**)
// CHECK: uses device heap
// CHECK: demangled by_new(int**)
// CHECK: uses device heap
// CHECK: demangled prints(int)
// CHECK-NOT: uses
// CHECK: demangled allocates(int**)
// CHECK: uses device heap
// CHECK: demangled by_callee(int**)
// CHECK: uses device heap
#include <hip/hip_runtime.h>
#include <cstdio>
#include <new>
__device__ __noinline__ void release(int* pointer) { free(pointer); }
__global__ void allocates(int** out) { *out = static_cast<int*>(malloc(sizeof(int))); }
__global__ void by_callee(int** in) { release(*in); }
__global__ void by_new(int** out) { *out = new int[5]; }
__global__ void frees(int** in) { free(*in); }
__global__ void prints(int n) { printf("%d\n", n); }
