// A segment's IR is the kernel and what it reaches: neither other kernels nor what only they use.
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.nv.ll && %segments --ir --name first %t.nv.ll | FileCheck --check-prefixes=CHECK,NV %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.amd.ll && %segments --ir --name first %t.amd.ll | FileCheck --check-prefixes=CHECK,AMD %s
// CHECK: segment kernel _Z5firstPf
// CHECK-NOT: llvm.used
// CHECK-NOT: comdat
// CHECK-NOT: second
// CHECK-NOT: unused
// NV: define dso_local ptx_kernel void @_Z5firstPf(
// AMD: define protected amdgpu_kernel void @_Z5firstPf(
// NV: define dso_local noundef float @_Z6callerf(
// AMD: define hidden noundef float @_Z6callerf(
// CHECK: define internal noundef float @_ZL6calleef(
// CHECK-NOT: second
// CHECK-NOT: unused
#include "gpu.h"
static __device__ float callee(float x) { return x * 0.5f; }
__device__ float caller(float x) { return callee(x) + 1; }
__device__ float second_only(float x) { return x * 4; }
__device__ float unused(float x) { return x * 8; }
__global__ void second(float* p) { *p = second_only(*p); }
__global__ void first(float* p) { *p = caller(*p); }
