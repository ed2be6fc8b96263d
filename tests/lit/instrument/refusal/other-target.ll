; Modules for other targets are left alone, and so are device modules without kernels.
; RUN: %mneme-opt -passes=mneme-instrument -S %s -o %t.host.ll && FileCheck %s < %t.host.ll
; RUN: sed -e 's/x86_64-pc-linux-gnu/nvptx64-nvidia-cuda/' %s > %t.device.ll
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %t.device.ll -o %t.device.out.ll && FileCheck %s < %t.device.out.ll
; CHECK-NOT: __mneme
; CHECK-NOT: llvm.used
target triple = "x86_64-pc-linux-gnu"
@state = internal global i32 0
define i32 @f() {
  store i32 1, ptr @state
  ret i32 0
}
