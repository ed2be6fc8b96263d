; What the module around a kernel says comes along: its flags, what is noted of the kernel and of what it reaches, and that a
; function may be missing. What is noted of other kernels does not.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --ir --name '^kernel$' %t.ll | FileCheck %s
; CHECK: segment kernel kernel
; CHECK-DAG: declare extern_weak void @maybe()
; CHECK-DAG: declare void @certain()
; CHECK-DAG: !{i32 4, !"nvvm-reflect-ftz", i32 1}
; CHECK-DAG: !{ptr @kernel, !"noted", i32 1}
; CHECK-DAG: !{ptr @certain, !"noted", i32 2}
; CHECK-NOT: !"noted", i32 3
; CHECK: 1 segments
target triple = "nvptx64-nvidia-cuda"
declare extern_weak void @maybe()
declare void @certain()
define ptx_kernel void @kernel() {
  %there = icmp ne ptr @maybe, null
  br i1 %there, label %call, label %end
call:
  call void @maybe()
  br label %end
end:
  call void @certain()
  ret void
}
define ptx_kernel void @other() { ret void }
!llvm.module.flags = !{!0}
!nvvm.annotations = !{!1, !2, !3}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!1 = !{ptr @kernel, !"noted", i32 1}
!2 = !{ptr @certain, !"noted", i32 2}
!3 = !{ptr @other, !"noted", i32 3}
