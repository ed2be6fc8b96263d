// Each architecture of a compilation has segments of its own; two that differ are two hashes.
// RUN: %mneme-gfx --offload-arch=gfx90a,gfx942,gfx1100 -O2 -c %s -o %t.bundle && %segments %t.bundle | FileCheck %s
// RUN: %mneme-gfx --offload-arch=gfx90a:xnack+,gfx90a:xnack- -mcode-object-version=6 -c %s -o %t.bundle && %segments %t.bundle | FileCheck --check-prefix=FEATURES %s
// CHECK: target amdgcn gfx1100
// CHECK: target amdgcn gfx90a
// CHECK: target amdgcn gfx942
// CHECK: 3 segments
// FEATURES-COUNT-2: target amdgcn gfx90a{{$}}
// FEATURES: 2 segments
#include "gpu.h"
__global__ void k(int* p) { *p = 1; }
