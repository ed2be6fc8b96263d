// Functions and variables that other files may use get segments of their own where device code is relocatable, and only there.
// RUN: %mneme-nv -c %s -o %t.cubin && %segments %t.cubin | FileCheck --check-prefixes=KERNEL,WHOLE %s
// RUN: %mneme-nv -fgpu-rdc -c %s -o %t.rdc.o -S -emit-llvm && %segments %t.rdc.o | FileCheck --check-prefixes=KERNEL,RDC %s
// RUN: %mneme-nv -fgpu-rdc -fno-gpu-rdc -c %s -o %t.cubin && %segments %t.cubin | FileCheck --check-prefixes=KERNEL,WHOLE %s
// What a file of options says is not known: relocatable is right for both.
// RUN: echo -fgpu-rdc > %t.options && %mneme-nv @%t.options -c %s -o %t.options.ll -S -emit-llvm && %segments %t.options.ll | FileCheck --check-prefixes=KERNEL,RDC %s
// RUN: %plain-nv -S -emit-llvm -Xclang -disable-llvm-passes %s -o %t.ll
// RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' %t.ll -S -o %t.whole.ll && %segments %t.whole.ll | FileCheck --check-prefixes=KERNEL,WHOLE %s
// RUN: %mneme-opt -passes='mneme-instrument<rdc>' %t.ll -S -o %t.rdc.ll && %segments %t.rdc.ll | FileCheck --check-prefixes=KERNEL,RDC %s
// opt does not know: relocatable is right for both.
// RUN: %mneme-opt -passes=mneme-instrument %t.ll -S -o %t.auto.ll && %segments %t.auto.ll | FileCheck --check-prefixes=KERNEL,RDC %s
// KERNEL: segment kernel _Z1kPi
// WHOLE: {{^}}1 segments
// RDC: segment function _Z7offeredi
// RDC: segment global counter
// RDC: {{^}}3 segments
#include "gpu.h"
__device__ int counter;
__device__ int offered(int x) { return x + counter; }
__device__ inline int in_header(int x) { return x * 2; }
static __device__ int own(int x) { return x * 3; }
__global__ void k(int* p) { *p = offered(in_header(own(*p))); }
