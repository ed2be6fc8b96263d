// REQUIRES: rocm
// The headers of half precision, on both sides and in C++11, whose rules about narrowing are the strictest.
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 -std=c++11 -O2 -c %s -o %t.o
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O2 -S -emit-llvm %s -o - | FileCheck %s
// CHECK: define {{.*}} @_Z11reciprocalsP6__halfP7__half2
// CHECK-COUNT-3: call{{.*}} half @llvm.amdgcn.rcp.f16(half
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
__global__ void reciprocals(__half* one, __half2* two) {
  *one = hrcp(*one);
  *two = h2rcp(*two);
}
