// Which variables are state: what the host, another file or the device may change. Internal ones get a visible name of their own.
// RUN: %mneme-nv -O2 -S -emit-llvm %s -o %t.nv.ll && %segments %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O2 -S -emit-llvm %s -o %t.amd.ll && %segments %t.amd.ll | FileCheck --check-prefixes=CHECK,AMD %s
// RUN: FileCheck --check-prefix=PROGRAM %s < %t.nv.ll
// RUN: %segments --ir %t.nv.ll | FileCheck --check-prefix=IR %s
// CHECK: segment kernel _Z1kPi
// CHECK-NOT: never_written
// CHECK-NOT: lookup
// CHECK-NOT: literal
// CHECK-DAG: global table ir-name table size 64 align {{4|16}} constant{{$}}
// CHECK-DAG: global counter ir-name counter size 4 align 4{{$}}
// CHECK-DAG: global _ZL9host_used ir-name _ZL9host_used size 4 align 4{{$}}
// CHECK-DAG: global _ZL7written__mneme ir-name _ZL7written size 16 align {{4|16}}{{$}}
// CHECK-DAG: global _ZL7counted__mneme ir-name _ZL7counted size 4 align 4{{$}}
// CHECK-DAG: global _ZZ1kPiE5calls__mneme ir-name _ZZ1kPiE5calls size 4 align 4{{$}}
// AMD-DAG: global managed ir-name managed size 8 align 8 managed{{$}}
// CHECK: {{^}}1 segments
// PROGRAM-DAG: @_ZL7written__mneme = dso_local {{.*}}addrspace(1) global
// PROGRAM-DAG: @_ZL9host_used = {{.*}}externally_initialized
// IR-DAG: @_ZL7written = weak_odr {{.*}}externally_initialized global [4 x i32]
// IR-DAG: @table = weak_odr {{.*}}addrspace(4) externally_initialized constant
// IR-DAG: @_ZL13never_written = internal
#include "gpu.h"
__constant__ int table[16];
__device__ int counter;
static __device__ int host_used;
static __device__ int written[4];
static __device__ int counted;  // changed by an atomic operation only
static __device__ int never_written[4] = {1, 2, 3, 4};
static const __device__ int lookup[4] = {5, 6, 7, 8};
#ifdef __HIP__
__managed__ int managed;
#define MANAGED managed
#else
#define MANAGED 0
#endif
__device__ __noinline__ int read(const int* p, int i) { return p[i]; }
__global__ void k(int* p) {
  static __device__ int calls = 3;
  const char* literal = "literal";
  *p = table[*p] + counter + host_used + written[*p] + read(never_written, *p) + lookup[*p] + calls++ + literal[*p] + MANAGED;
  written[*p] = 1;
  __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}
void host(void*);
void user() { host(&host_used); host((void*)&table); }
