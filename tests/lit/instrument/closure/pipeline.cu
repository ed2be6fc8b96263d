// A segment says what the file is optimised with; opt's own pipelines are known to nobody.
// RUN: for level in 0 1 2 3 s z; do %mneme-nv -O$level -c -emit-llvm %s -o %t.bc && %segments %t.bc; done | FileCheck %s
// RUN: %mneme-nv -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=NONE %s
// RUN: %plain-nv -O2 -Xclang -disable-llvm-passes -c -emit-llvm %s -o %t.bc && %mneme-opt -passes=mneme-instrument %t.bc -o %t2.bc && %segments %t2.bc | FileCheck --check-prefix=OPT %s
// CHECK: pipeline default<O0>
// CHECK: pipeline default<O1>
// CHECK: pipeline default<O2>
// CHECK: pipeline default<O3>
// CHECK: pipeline default<Os>
// CHECK: pipeline default<Oz>
// NONE: pipeline default<O0>
// OPT: target nvptx
// OPT-NOT: pipeline
#include "gpu.h"
__global__ void k(int* p) { *p = 1; }
