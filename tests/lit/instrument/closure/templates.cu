// Each instance of a template kernel has a segment; kernels over lambdas and in anonymous
// namespaces are kernels like others.
// RUN: %mneme-nv -O1 -S -emit-llvm %s -o %t.nv.ll && %segments %t.nv.ll | FileCheck %s
// RUN: %mneme-amd -O1 -S -emit-llvm %s -o %t.amd.ll && %segments %t.amd.ll | FileCheck %s
// CHECK-DAG: segment kernel _Z3addIfEvPT_S0_
// CHECK-DAG: demangled void add<float>(float*, float)
// CHECK-DAG: segment kernel _Z3addIiEvPT_S0_
// CHECK-DAG: segment kernel _Z5applyIZ4userPiEUliE_EvT_
// CHECK-DAG: param aggregate offset 0 size 16 align 8 type class.anon name {{f?$}}
// CHECK-DAG: segment kernel _ZN12_GLOBAL__N_16hiddenENS_5PointE
// CHECK-DAG: demangled (anonymous namespace)::hidden((anonymous namespace)::Point)
// CHECK: 4 segments
#include "gpu.h"
template <class T> __global__ void add(T* p, T v) { *p += v; }
template __global__ void add<int>(int*, int);
template __global__ void add<float>(float*, float);
template <class F> __global__ void apply(F f) { f(1); }
namespace {
struct Point { float x, y; };
__global__ void hidden(Point p) { *(float*)0 = p.x; }
}
struct dim3 { unsigned x, y, z; };
#ifdef __HIP__
extern "C" int hipConfigureCall(dim3, dim3, unsigned long = 0, void* = 0);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = 0);
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
#else
extern "C" int cudaConfigureCall(dim3, dim3, unsigned long = 0, void* = 0);
extern "C" int __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = 0);
extern "C" int cudaLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
#endif
void user(int* p) {
  int n = 3;
  apply<<<dim3{1, 1, 1}, dim3{1, 1, 1}>>>([=] __device__(int i) { p[i] = n; });
  hidden<<<dim3{1, 1, 1}, dim3{1, 1, 1}>>>(Point{1, 2});
}
