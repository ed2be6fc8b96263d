// A segment says what the file is optimised with, as clang tells the plugin. opt's own pipelines are known to nobody.
// RUN: %mneme-nv -O0 -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=O0 %s
// RUN: %mneme-nv -O1 -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=O1 %s
// RUN: %mneme-nv -O2 -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=O2 %s
// RUN: %mneme-nv -O3 -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=O3 %s
// RUN: %mneme-nv -Os -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=OS %s
// RUN: %mneme-nv -Oz -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=OZ %s
// RUN: %mneme-nv -c -emit-llvm %s -o %t.bc && %segments %t.bc | FileCheck --check-prefix=O0 %s
// RUN: %mneme-amd -O0 -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck --check-prefix=O0 %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck --check-prefix=O2 %s
// RUN: %mneme-amd -Os -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck --check-prefix=OS %s
// RUN: %plain-nv -O2 -Xclang -disable-llvm-passes -c -emit-llvm %s -o %t.bc
// RUN: %mneme-opt -passes=mneme-instrument %t.bc -o %t2.bc && %segments %t2.bc | FileCheck --check-prefix=OPT %s
// O0: pipeline default<O0>
// O1: pipeline default<O1>
// O2: pipeline default<O2>
// O3: pipeline default<O3>
// OS: pipeline default<Os>
// OZ: pipeline default<Oz>
// OPT: target nvptx
// OPT-NOT: pipeline
#include "gpu.h"
__global__ void k(int* p) { *p = 1; }
