// The host half of a compilation is left alone.
// RUN: %mneme-cuda -nocudainc -nocudalib --cuda-host-only -S -emit-llvm -O1 %s -o %t.mneme.ll
// RUN: %plain-cuda -nocudainc -nocudalib --cuda-host-only -S -emit-llvm -O1 %s -o %t.plain.ll
// RUN: diff %t.plain.ll %t.mneme.ll
#include "gpu.h"
__device__ void d();
int host(int x) { return x + 1; }
