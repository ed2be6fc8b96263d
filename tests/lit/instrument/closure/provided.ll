; What the system has for every kernel is no need, and what another file defines is one.
; RUN: %mneme-opt -passes='mneme-instrument<rdc>' -S %s -o %t.ll && %segments %t.ll | FileCheck %s
; CHECK: segment kernel kernel
; CHECK-NOT: needs
; CHECK:   needs elsewhere
; CHECK-NOT: needs
; CHECK: 1 segments
target triple = "nvptx64-nvidia-cuda"
declare i32 @vprintf(ptr, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
declare i32 @__nvvm_reflect(ptr)
declare float @__nv_sinf(float)
declare float @llvm.sqrt.f32(float)
declare void @elsewhere()
define ptx_kernel void @kernel(ptr %p, float %f) {
  %1 = call i32 @vprintf(ptr %p, ptr %p)
  %2 = call ptr @malloc(i64 8)
  call void @free(ptr %2)
  call void @__assertfail(ptr %p, ptr %p, i32 1, ptr %p, i64 1)
  %3 = call i32 @__nvvm_reflect(ptr %p)
  %4 = call float @__nv_sinf(float %f)
  %5 = call float @llvm.sqrt.f32(float %4)
  call void @elsewhere()
  ret void
}
