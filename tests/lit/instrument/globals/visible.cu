// In the device image the names are there for the driver to find, unique in a program of several files where these are linked.
// RUN: %mneme-nv -O2 -c %s -o %t.cubin && llvm-readelf --symbols %t.cubin | FileCheck --check-prefix=WHOLE %s
// RUN: %mneme-nv -O2 -fgpu-rdc --offload-arch=sm_90 -S %s -o %t.s && FileCheck --check-prefix=RDC %s < %t.s
// WHOLE: OBJECT GLOBAL DEFAULT {{.*}} _ZL7counter__mneme{{$}}
// RDC: .visible .global .align 4 .u32 _ZL7counter__mneme_{{[0-9a-f]+}};
#include "gpu.h"
static __device__ int counter;
__global__ void k(int* p) { *p = counter++; }
