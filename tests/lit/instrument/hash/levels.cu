// Two levels at which clang makes other IR of a kernel (TBAA, lifetime markers, the noinline that -O0 puts everywhere) are two
// hashes; where the IR is the same, so is the hash.
// RUN: %mneme-nv -O0 -S -emit-llvm %s -o %t.O0.ll && %segments --hash %t.O0.ll > %t.O0
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.O2.ll && %segments --hash %t.O2.ll > %t.O2
// RUN: %mneme-nv -O3 -S -emit-llvm %s -o %t.O3.ll && %segments --hash %t.O3.ll > %t.O3
// RUN: diff %t.O2 %t.O3
// RUN: cat %t.O0 %t.O3 | sort | uniq -c | FileCheck %s
// RUN: %mneme-amd -O0 -S -emit-llvm %s -o %t.O0.ll && %segments --hash %t.O0.ll > %t.O0
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.O2.ll && %segments --hash %t.O2.ll > %t.O2
// RUN: %mneme-amd -O3 -S -emit-llvm %s -o %t.O3.ll && %segments --hash %t.O3.ll > %t.O3
// RUN: diff %t.O2 %t.O3
// RUN: cat %t.O0 %t.O3 | sort | uniq -c | FileCheck %s
// CHECK-COUNT-2: {{^ *}}1 {{[0-9a-f]+}} _Z7subjectPi
// CHECK-NOT: {{.}}
#include "gpu.h"
__device__ int callee(int x) {
  int local[2] = {x, x + 1};
  return local[x & 1];
}
__global__ void subject(int* p) {
  for (int i = 0; i < 4; ++i) *p += callee(i);
}
