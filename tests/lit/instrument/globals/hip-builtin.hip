// REQUIRES: rocm
// threadIdx and its like are variables in HIP's headers, and no state. A managed variable is a pointer.
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O2 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx1030 --cuda-device-only --no-gpu-bundle-output -O0 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// CHECK: segment kernel _Z5placePi
// CHECK-NOT: global _Z
// CHECK: global managed ir-name managed size 8 align 8 managed{{$}}
// CHECK-NOT: global
// CHECK: 1 segments
#include <hip/hip_runtime.h>
__managed__ int managed;
__global__ void place(int* p) { p[threadIdx.x + blockIdx.y * gridDim.z + blockDim.x + warpSize] = managed; }
