// REQUIRES: rocm
// A HIP program has the segments of each architecture in that architecture's code object, with the old and the new driver, at every
// level, and where the code objects are compressed.
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 -O0 %s -o %t %hip-libs && %segments %t | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 -O2 -g %s -o %t %hip-libs && %segments %t | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 --no-offload-new-driver -O2 %s -o %t %hip-libs && %segments %t | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx90a,gfx1030 --offload-compress -O2 %s -o %t %hip-libs && %segments %t | FileCheck %s
// CHECK:      segment kernel _Z6squarePf3Box
// CHECK:        target amdgcn gfx1030
// CHECK:        param-bytes 32
// CHECK-NEXT:   param pointer offset 0 size 8 align 8 type ptr{{.*}} name p
// CHECK-NEXT:   param aggregate offset 8 size 24 align 8 type struct.Box
// CHECK-NEXT:   padding offset 9 size 7
// CHECK-NEXT:   padding offset 28 size 4
// CHECK-NEXT:   numbers offset 16 size 12
// CHECK-NEXT:   global gain ir-name gain size 4 align 4{{$}}
// CHECK-NEXT:   global table ir-name table size 16 align {{4|16}} constant{{$}}
// CHECK-NEXT: segment kernel _Z6squarePf3Box
// CHECK:        target amdgcn gfx90a
// CHECK:        global gain
// CHECK-NEXT:   global table
// CHECK-NEXT: 2 segments
#include <hip/hip_runtime.h>
struct Box { char kind; double width; int count; };
__device__ float gain = 2;
__constant__ float table[4] = {1, 2, 3, 4};
__global__ void square(float* p, Box box) {
  __shared__ float tile[64];
  tile[threadIdx.x] = p[blockIdx.x * blockDim.x + threadIdx.x] * gain;
  __syncthreads();
  p[threadIdx.x] = expf(tile[63 - threadIdx.x]) + box.count * table[threadIdx.x & 3];
}
int main() { square<<<1, 64>>>(nullptr, Box{1, 2, 3}); }
