// A variable's address escapes when it may come to stand in memory; loads, stores, atomics and copies through it, also by way of
// functions that take it, do not count. The optimisation level makes no difference.
// RUN: %mneme-nv -O0 -S -emit-llvm %s -o %t.O0.ll && %segments %t.O0.ll | FileCheck %s
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.O2.ll && %segments %t.O2.ll | FileCheck %s
// RUN: %mneme-amd -O0 -S -emit-llvm %s -o %t.amd.ll && %segments %t.amd.ll | FileCheck %s
// CHECK-DAG: global accessed {{.*}} align {{4|16}}{{$}}
// CHECK-DAG: global passed {{.*}} align {{4|16}}{{$}}
// CHECK-DAG: global returned {{.*}} align {{4|16}}{{$}}
// CHECK-DAG: global copied {{.*}} align {{4|16}}{{$}}
// CHECK-DAG: global stored {{.*}} align {{4|16}} escapes{{$}}
// CHECK-DAG: global exchanged {{.*}} align {{4|16}} escapes{{$}}
// CHECK-DAG: global in_table {{.*}} align {{4|16}} escapes{{$}}
// CHECK-DAG: global as_integer {{.*}} align {{4|16}} escapes{{$}}
// CHECK-DAG: global to_unknown {{.*}} align {{4|16}} escapes{{$}}
#include "gpu.h"
struct Big { int x[64]; };
__device__ int accessed[4], passed[4], returned[4], stored[4], exchanged[4], in_table[4], as_integer[4], to_unknown[4];
__device__ Big copied;
__device__ int* const table[1] = {in_table};
__device__ int unknown(int*);
__device__ void set(int* p, int v) { __atomic_fetch_add(p, v, __ATOMIC_RELAXED); p[1] = v; }
__device__ int* give() { return returned; }
__global__ void k(int** p, Big* b, long* l, int (*unknown)(int*)) {
  accessed[**p] = 3;
  set(passed + 1, 4);
  give()[2] = 5;
  *b = copied;
  *p = stored;
  __atomic_exchange_n(p + 1, exchanged, __ATOMIC_RELAXED);
  *table[**p] = 4;
  *l = (long)as_integer;
  unknown(to_unknown);
}
