// REQUIRES: rocm
// Atomic operations that wrap around, which the headers of ROCm 5 take from intrinsics that LLVM has no more: the instructions in their place
// are in the program and in the segment.
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 -O2 %s -o %t %hip-libs && %segments --ir %t | FileCheck %s
// CHECK-DAG: atomicrmw uinc_wrap ptr {{.*}} syncscope("agent") monotonic
// CHECK-DAG: atomicrmw udec_wrap ptr {{.*}} syncscope("agent") monotonic
#include <hip/hip_runtime.h>
__global__ void ring(unsigned* p) {
  atomicInc(p, 5u);
  atomicDec(p + 1, 7u);
}
int main() { ring<<<1, 64>>>(nullptr); }
