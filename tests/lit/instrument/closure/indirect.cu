// What is reached by way of tables of function pointers and of virtual functions belongs to the closure.
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.nv.ll && %segments --ir %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.amd.ll && %segments --ir %t.amd.ll | FileCheck %s
// CHECK: segment kernel _Z1kPfi
// CHECK-DAG: @_ZL5table = internal {{.*}}constant [2 x ptr]
// CHECK-DAG: @_ZTV6Square = linkonce_odr
// CHECK-DAG: define {{.*}}float @_Z5twicef(
// CHECK-DAG: define {{.*}}float @_Z4halff(
// CHECK-DAG: define linkonce_odr {{.*}}float @_ZN6Square5applyEf(
// CHECK: 1 segments
#include "gpu.h"
struct Shape { __device__ virtual float apply(float x) = 0; };
struct Square : Shape { __device__ float apply(float x) override { return x * x; } };
__device__ float twice(float x) { return x * 2; }
__device__ float half(float x) { return x / 2; }
__device__ float (*const table[2])(float) = {twice, half};
__device__ float use(Shape& s, float x) { return s.apply(x); }
__global__ void k(float* p, int i) {
  Square square;
  *p = table[i](use(square, *p));
}
