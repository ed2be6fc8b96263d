; What a module of a kernel's own cannot hold: the kernel is compiled as before, a warning names it and says why, and other
; kernels are not affected. No code changes.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll 2>&1 | FileCheck %s
; RUN: %segments %t.ll | FileCheck --check-prefix=SEGMENTS %s
; RUN: FileCheck --check-prefix=PROGRAM %s < %t.ll
; CHECK: warning: mneme: kernel 'resolved(int)' is compiled but cannot be recorded: it reaches the ifunc 'chosen', which is resolved by code of the host
; CHECK: warning: mneme: kernel 'local()' is compiled but cannot be recorded: it reaches the thread-local variable 'tls'
; CHECK-NOT: warning
; SEGMENTS: segment kernel good
; SEGMENTS: {{^}}1 segments
; PROGRAM: define ptx_kernel void @_Z8resolvedi(i32 %x)
target triple = "nvptx64-nvidia-cuda"
@tls = internal thread_local global i32 0
@chosen = ifunc void (), ptr @resolver
define internal ptr @resolver() { ret ptr null }
define ptx_kernel void @_Z8resolvedi(i32 %x) {
  call void @chosen()
  ret void
}
define ptx_kernel void @_Z5localv() {
  store i32 1, ptr @tls
  ret void
}
define ptx_kernel void @good() { ret void }
