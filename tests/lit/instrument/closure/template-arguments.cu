// A kernel that is parametrised by a function: with -g its debug information names the function, whether or not the code still does.
// RUN: %mneme-nv -O2 -g -S -emit-llvm %s -o %t.nv.ll && %segments --ir %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O0 -g -S -emit-llvm %s -o %t.amd.ll && %segments --ir %t.amd.ll | FileCheck %s
// CHECK: segment kernel _Z3mapIXadL_Z5twiceiEEEvPi
// CHECK-NOT: needs
// CHECK: define {{.*}}@_Z5twicei(
// CHECK: segment kernel _Z6unusedIXadL_Z4halfiEEEvPi
// CHECK-NOT: needs
// CHECK-NOT: @_Z4halfi
// CHECK: 2 segments
#include "gpu.h"
__device__ int twice(int x) { return 2 * x; }
__device__ int half(int x) { return x / 2; }
template <int (*F)(int)> __global__ void map(int* p) { *p = F(*p); }
template <int (*F)(int)> __global__ void unused(int* p) { *p = 0; }
template __global__ void map<twice>(int*);
template __global__ void unused<half>(int*);
