; Module-level assembly may define what is called and not defined: that kernel is refused, others are not. (clang leaves such
; assembly out of device code; other front ends do not.) The warning is clang's own kind, so that it can be turned off and need
; not be an error.
; RUN: %clang-ir -S -emit-llvm %s -o %t.ll 2>&1 | FileCheck %s
; RUN: %segments %t.ll | FileCheck --check-prefix=SEGMENTS %s
; RUN: %clang-ir -S -emit-llvm -Werror -Wno-error=backend-plugin %s -o %t.ll
; RUN: %clang-ir -S -emit-llvm -Werror -Wno-backend-plugin %s -o %t.ll 2>&1 | count 0
; CHECK: warning: mneme: kernel 'calls(int*)' is compiled but cannot be recorded: it calls 'in_assembly', which this file's module-level assembly may define [-Wbackend-plugin]
; CHECK-NOT: warning: mneme
; SEGMENTS: segment kernel plain
; SEGMENTS: segment kernel prints
; SEGMENTS: {{^}}2 segments
target triple = "nvptx64-nvidia-cuda"
module asm ".func in_assembly() { ret; }"
declare void @in_assembly()
define ptx_kernel void @_Z5callsPi(ptr %p) {
  call void @in_assembly()
  ret void
}
define ptx_kernel void @plain(ptr %p) { ret void }
declare i32 @vprintf(ptr, ptr)
define ptx_kernel void @prints(ptr %p) {  ; what the system defines
  %1 = call i32 @vprintf(ptr %p, ptr %p)
  ret void
}
