// Shared memory, static and dynamic, launch bounds, and string literals.
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.nv.ll && %segments --ir %t.nv.ll | FileCheck --check-prefixes=CHECK,NV %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.amd.ll && %segments --ir %t.amd.ll | FileCheck %s
// CHECK: segment kernel _Z1kPf
// CHECK-NOT: needs
// CHECK-DAG: = internal addrspace(3) global [32 x float]
// CHECK-DAG: @dynamic = external {{.*}}addrspace(3) global [0 x float]
// CHECK-DAG: c"text\00"
// NV: "nvvm.maxntid"="128" {{.*}}"nvvm.minctasm"="2"
#include "gpu.h"
__device__ __noinline__ int length(const char* s) { return s[0]; }
extern __shared__ float dynamic[];
__global__ void __launch_bounds__(128, 2) k(float* p) {
  __shared__ float tile[32];
  tile[length("text")] = *p;
  *p = dynamic[1] + tile[2];
}
