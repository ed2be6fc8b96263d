// Under relocatable device code clang makes a static variable that the host uses external, with a suffix of the file's path. The
// IR has the name without it; with the file's name where it is linked with other files' code.
// RUN: %mneme-nv -fgpu-rdc -O2 -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck %s
// RUN: %mneme-amd -fgpu-rdc -O2 -S -emit-llvm %s -o %t.amd.ll && %segments %t.amd.ll | FileCheck %s
// CHECK: segment kernel _Z5alonePi
// CHECK:   global _ZL5state{{__|[.]}}static{{__|[.]}}[[ID:[0-9a-f]+]] ir-name _ZL5state size 4
// CHECK: segment kernel _Z6linkedPi
// CHECK:   global _ZL5state{{__|[.]}}static{{__|[.]}}[[ID]] ir-name _ZL5state__in_relocatable_cu size 4
// CHECK:   needs _Z9elsewherei
// CHECK: segment global _ZL5state{{__|[.]}}static{{__|[.]}}[[ID]]
// CHECK-NEXT: ir-name _ZL5state__in_relocatable_cu
#include "gpu.h"
static __device__ int state;
void host(void*);
void user() { host(&state); }
extern __device__ int elsewhere(int);
__global__ void alone(int* p) { *p = state++; }
__global__ void linked(int* p) { *p = elsewhere(state++); }
