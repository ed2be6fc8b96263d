// One file that a program has twice, compiled by other macros: what is static in it is twice there, and has two names. clang's id of
// the compilation tells the two apart; without one, what they define does.
// RUN: %plain-nv -DNAME=first -S -emit-llvm -Xclang -disable-llvm-passes %s -o %t.ll
// RUN: %mneme-opt -passes='mneme-instrument<rdc>' %t.ll -S -o %t.first.ll
// RUN: %plain-nv -DNAME=second -S -emit-llvm -Xclang -disable-llvm-passes %s -o %t.ll
// RUN: %mneme-opt -passes='mneme-instrument<rdc>' %t.ll -S -o %t.second.ll
// RUN: %segments %t.first.ll > %t.both && %segments %t.second.ll >> %t.both && FileCheck %s < %t.both
// CHECK:     segment kernel _Z5firstPi
// CHECK:     global _ZL6hidden__mneme_[[FIRST:[0-9a-f]+]] ir-name
// CHECK:     segment kernel _Z6secondPi
// CHECK-NOT: global _ZL6hidden__mneme_[[FIRST]]
#include "gpu.h"
static __device__ int hidden;
__global__ void NAME(int* p) { *p = hidden++; }
