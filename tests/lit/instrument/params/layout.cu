// The layout of the packed parameter buffer, and the bytes in it that hold nothing or belong to numbers.
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.nv.ll && %segments %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.amd.ll && %segments %t.amd.ll | FileCheck %s
#include "gpu.h"
struct Nested { char c; short s; };
struct Gaps { char a; double b; Nested n[2]; };
struct Derivable { Derivable(); void* p; int n; };
union Either { struct { char a; double b; } s; char bytes[16]; };
struct __attribute__((aligned(16))) Aligned { float x; };
struct Tagged { long size; void* data; };
struct __attribute__((aligned(64))) Map { unsigned long opaque[16]; };  // as CUtensorMap
struct Filled { long hash; double x[4]; void* p; char storage[16]; Tagged t[2]; };

// CHECK: segment kernel _Z1aPfcsidPKi
// CHECK:      param-bytes 32
// CHECK-NEXT: param pointer offset 0 size 8 align 8 type ptr{{.*}} name p
// CHECK-NEXT: param integer offset 8 size 1 align 1 type i8 name c
// CHECK-NEXT: param integer offset 10 size 2 align 2 type i16 name s
// CHECK-NEXT: param integer offset 12 size 4 align 4 type i32 name i
// CHECK-NEXT: param float offset 16 size 8 align 8 type double name d
// CHECK-NEXT: param pointer offset 24 size 8 align 8 type ptr{{.*}} name q
// CHECK-NEXT: padding offset 9 size 1
// CHECK-NEXT: numbers offset 10 size 14
// CHECK-NOT:  {{padding|numbers}}
__global__ void a(float* p, char c, short s, int i, double d, const int* q) {}

// CHECK: segment kernel _Z1bi4Gaps
// CHECK:      param-bytes 32
// CHECK-NEXT: param integer offset 0 size 4 align 4 type i32
// CHECK-NEXT: param aggregate offset 8 size 24 align 8 type struct.Gaps
// CHECK-NEXT: padding offset 4 size 4
// CHECK-NEXT: padding offset 9 size 7
// CHECK-NEXT: padding offset 25 size 1
// CHECK-NEXT: padding offset 29 size 1
// CHECK-NEXT: numbers offset 0 size 4
// CHECK-NEXT: numbers offset 16 size 8
// CHECK-NEXT: numbers offset 26 size 2
// CHECK-NEXT: numbers offset 30 size 2
// CHECK-NOT:  {{padding|numbers}}
__global__ void b(int i, Gaps g) {}

// A tail that a derived class may use is spelt out as bytes.
// CHECK: segment kernel _Z1c9Derivable
// CHECK:      param-bytes 16
// CHECK:      padding offset 12 size 4
// CHECK-NEXT: numbers offset 8 size 4
// CHECK-NOT:  numbers
__global__ void c(Derivable d) {}

// In a gap of one member of a union another may have its value, and an address where this one has a number.
// CHECK: segment kernel _Z1d6Either
// CHECK:      param-bytes 16
// CHECK-NOT:  {{padding|numbers}}
__global__ void d(Either e) {}

// CHECK: segment kernel _Z1ei7Aligned
// CHECK:      param-bytes 32
// CHECK:      param aggregate offset 16 size 16 align 16 type struct.Aligned
__global__ void e(int i, Aligned a) {}

// CHECK: segment kernel _Z1fv
// CHECK:      param-bytes 0
// CHECK-NOT:  param
__global__ void f() {}

// Bytes may be the storage of anything, and a whole number as large as an address may be one. Numbers that follow each other are told
// together.
// CHECK: segment kernel _Z1g6Filled
// CHECK:      param-bytes 96
// CHECK:      numbers offset 8 size 32
// CHECK-NOT:  numbers
__global__ void g(Filled f) {}

// CHECK: segment kernel _Z1hmi3Map
// CHECK:      numbers offset 8 size 4
// CHECK-NOT:  numbers
__global__ void h(unsigned long address, int i, Map m) {}
// CHECK: 8 segments
