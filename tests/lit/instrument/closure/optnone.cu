// What -O0 adds to every function to keep it unoptimised does not reach the recorded IR; the program's own noinline does.
// RUN: %mneme-nv -O0 -S -emit-llvm %s -o %t.O0.ll && %segments --ir %t.O0.ll | FileCheck --check-prefix=O0 %s
// RUN: FileCheck --check-prefix=PROGRAM %s < %t.O0.ll
// RUN: %mneme-nv -O1 -S -emit-llvm %s -o %t.O1.ll && %segments --ir %t.O1.ll | FileCheck --check-prefix=O1 %s
// RUN: %mneme-amd -O0 -S -emit-llvm %s -o %t.O0.ll && %segments --ir %t.O0.ll | FileCheck --check-prefix=O0 %s
// RUN: FileCheck --check-prefix=PROGRAM %s < %t.O0.ll
// RUN: %mneme-amd -O1 -S -emit-llvm %s -o %t.O1.ll && %segments --ir %t.O1.ll | FileCheck --check-prefix=O1 %s
// O0: segment kernel _Z1kPi
// O0-NOT: optnone
// O0-NOT: noinline
// PROGRAM: optnone
// O1: segment kernel _Z1kPi
// O1: noinline
#include "gpu.h"
__device__ __noinline__ int callee(int x) { return x + 1; }
__global__ void k(int* p) { *p = callee(*p); }
