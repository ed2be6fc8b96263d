// Memory that kernels allocate and free, by the names that the device's system has for it: in the kernel and in what it calls.
// RUN: %mneme-cuda --cuda-device-only -O2 -c %s -o %t.cubin && %segments %t.cubin | FileCheck %s
// RUN: %mneme-cuda --cuda-device-only -O0 -c %s -o %t.cubin && %segments %t.cubin | FileCheck %s
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
#include <cstdio>
#include <new>
__device__ __noinline__ void release(int* pointer) { free(pointer); }
__global__ void allocates(int** out) { *out = static_cast<int*>(malloc(sizeof(int))); }
__global__ void by_callee(int** in) { release(*in); }
__global__ void by_new(int** out) { *out = new int[5]; }
__global__ void frees(int** in) { free(*in); }
__global__ void prints(int n) { printf("%d\n", n); }
