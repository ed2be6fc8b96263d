// The plugin given twice, by a project and by a user's flags, does its work once.
// RUN: %mneme-nv -fpass-plugin=%plugin -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck %s
// RUN: %mneme-nv -S -emit-llvm -Xclang -disable-llvm-passes %s -o - | %mneme-opt -passes='mneme-instrument,mneme-instrument' -S -o %t.opt.ll
// RUN: %segments %t.opt.ll | FileCheck %s
// RUN: %mneme-amd -fpass-plugin=%plugin -S -emit-llvm %s -o %t.ll && %segments %t.ll | FileCheck %s
// CHECK: segment kernel _Z1kPi
// CHECK: {{^}}1 segments
#include "gpu.h"
__global__ void k(int* p) { *p = 1; }
