// -g: lines and local variables of the closure come along, and the kernel's place; the rest of the file's debug information does not.
// RUN: %mneme-nv -O0 -g -S -emit-llvm %s -o %t.nv.ll && %segments --ir --name 'k' %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O2 -g -S -emit-llvm %s -o %t.amd.ll && %segments --ir --name 'k' %t.amd.ll | FileCheck %s
// CHECK: segment kernel _Z1kPi
// CHECK: source debug.cu:[[#@LINE+10]]
// CHECK-DAG: !DISubprogram(name: "k", linkageName: "_Z1kPi"
// CHECK-DAG: !DISubprogram(name: "callee"
// CHECK-DAG: !DILocalVariable(name: "local"
// CHECK-DAG: !DIGlobalVariable(name: "counter"
// CHECK-NOT: unrelated
#include "gpu.h"
__device__ int counter, unrelated_counter;
struct unrelated_type { int x; };
__device__ int callee(int x) { return x + counter; }
__global__ void k(int* p) {
  int local = callee(*p);
  *p = local;
}
__device__ int unrelated(unrelated_type t) { return t.x + unrelated_counter; }
__global__ void other(unrelated_type t) { unrelated_counter = unrelated(t); }
