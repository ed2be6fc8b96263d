; Kernels that differ in one thing each have hashes of their own. (The suffix of their names does not count.)
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --hash %t.ll | sed -e 's/ .*//' | sort | uniq -c | FileCheck %s
; CHECK-NOT: {{^ *[2-9] }}
; CHECK-COUNT-27: {{^ *1 [0-9a-f]+$}}
; CHECK-NOT: {{^ *1 }}
target triple = "nvptx64-nvidia-cuda"
@a = addrspace(1) global i32 0
@b = addrspace(1) global i32 0
define ptx_kernel void @k__intern__0000000000000000(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000001(ptr %p, i32 %x) {
  %1 = add i32 %x, 2
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000002(ptr %p, i32 %x) {
  %1 = add nsw i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000003(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store volatile i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000004(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 1
  ret void
}
define ptx_kernel void @k__intern__0000000000000005(ptr noalias %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000006(ptr %p, i32 %x) "nvvm.maxntid"="128" {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000007(ptr %p, i32 %x) {
  %1 = atomicrmw add ptr %p, i32 %x syncscope("block") monotonic
  ret void
}
define ptx_kernel void @k__intern__0000000000000008(ptr %p, i32 %x) {
  %1 = atomicrmw add ptr %p, i32 %x syncscope("device") monotonic
  ret void
}
define ptx_kernel void @k__intern__0000000000000009(ptr %p, i32 %x) {
  store i32 %x, ptr addrspace(1) @a
  ret void
}
define ptx_kernel void @k__intern__000000000000000a(ptr %p, i32 %x) {
  store i32 %x, ptr addrspace(1) @b
  ret void
}
define ptx_kernel void @k__intern__000000000000000b(ptr %p, i32 %x) {
  call void asm sideeffect "bar.sync 0;", ""()
  ret void
}
define ptx_kernel void @k__intern__000000000000000c(ptr %p, i32 %x) {
  call void asm sideeffect "bar.sync 1;", ""()
  ret void
}
; What tells LLVM what it may do with the same instructions.
define ptx_kernel void @k__intern__000000000000000d(ptr %p, i32 %x) {
  %1 = load float, ptr %p, align 4
  %2 = fadd float %1, 1.0
  store float %2, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__000000000000000e(ptr %p, i32 %x) {
  %1 = load float, ptr %p, align 4
  %2 = fadd contract float %1, 1.0
  store float %2, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__000000000000000f(ptr %p, i32 %x) {
  %1 = load float, ptr %p, align 4
  %2 = fadd fast float %1, 1.0
  store float %2, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000010(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4, !tbaa !0
  ret void
}
define ptx_kernel void @k__intern__0000000000000011(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4, !tbaa !4
  ret void
}
define ptx_kernel void @k__intern__0000000000000012(ptr %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4, !noalias !7
  ret void
}
define ptx_kernel void @k__intern__0000000000000013(ptr %p, i32 %x) {
  %1 = load i32, ptr %p, align 4, !range !10
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000014(ptr %p, i32 %x) {
  %1 = load i32, ptr %p, align 4, !invariant.load !11
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000015(ptr %p, i32 %x) noinline {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000016(ptr %p, i32 %x) "target-features"="+ptx80" {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000017(ptr nonnull %p, i32 %x) {
  %1 = add i32 %x, 1
  store i32 %1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000018(ptr %p, i32 %x) {
  %1 = alloca i32, align 4
  store i32 %x, ptr %1, align 4
  ret void
}
define ptx_kernel void @k__intern__0000000000000019(ptr %p, i32 %x) {
  %1 = alloca i32, align 4
  call void @llvm.lifetime.start.p0(ptr %1)
  store i32 %x, ptr %1, align 4
  ret void
}
define ptx_kernel void @k__intern__000000000000001a(ptr %p, i32 %x) {
  br label %head
head:
  %1 = load volatile i32, ptr %p, align 4
  %2 = icmp slt i32 %1, %x
  br i1 %2, label %head, label %exit, !llvm.loop !12
exit:
  ret void
}
!0 = !{!1, !1, i64 0}
!1 = !{!"one type", !2, i64 0}
!2 = !{!"char", !3, i64 0}
!3 = !{!"root"}
!4 = !{!5, !6, i64 0}
!5 = !{!"structure", !6, i64 0}
!6 = !{!"one type", !3, i64 0}
!7 = !{!8}
!8 = distinct !{!8, !9, !"scope"}
!9 = distinct !{!9, !"domain"}
!10 = !{i32 0, i32 10}
!11 = !{}
!12 = distinct !{!12, !13}
!13 = !{!"llvm.loop.mustprogress"}
