// In the device image the names are there for the driver to find, unique in a program of several files where these are linked.
// RUN: %mneme-nv -O2 -c %s -o %t.cubin && llvm-readelf --symbols %t.cubin | FileCheck --check-prefix=WHOLE %s
// RUN: %mneme-nv -O2 -fgpu-rdc --offload-arch=sm_90 -S %s -o %t.s && FileCheck --check-prefix=RDC %s < %t.s
// AMD's loader wants them protected. The image of -fgpu-rdc is IR.
// RUN: %mneme-amd -O2 --no-gpu-bundle-output -c %s -o %t.co && llvm-readelf --symbols %t.co | FileCheck --check-prefix=AMD %s
// RUN: %mneme-amd -O2 -fgpu-rdc -S -emit-llvm %s -o %t.amd.ll && FileCheck --check-prefix=AMD-RDC %s < %t.amd.ll
// WHOLE: OBJECT GLOBAL DEFAULT {{.*}} _ZL7counter__mneme{{$}}
// AMD: OBJECT GLOBAL PROTECTED {{.*}} _ZL7counter__mneme{{$}}
// AMD-RDC: @_ZL7counter__mneme_{{[0-9a-f]+}} = protected
// RDC: .visible .global .align 4 .u32 _ZL7counter__mneme_{{[0-9a-f]+}};
#include "gpu.h"
static __device__ int counter;
__global__ void k(int* p) { *p = counter++; }
