; What reads textures and surfaces is seen in intrinsics and inline PTX, in the kernel and in what it calls; words that only begin
; so are not taken for it, nor what another kernel does.
; RUN: %mneme-opt -passes=mneme-instrument %s -o %t.bc && %segments %t.bc | FileCheck %s
; CHECK: segment kernel by_asm
; CHECK: uses textures
; CHECK: segment kernel by_callee
; CHECK: uses textures
; CHECK: segment kernel by_intrinsic
; CHECK: uses textures
; CHECK: segment kernel guarded
; CHECK: uses textures
; CHECK: segment kernel not_at_all
; CHECK-NOT: uses
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @by_asm(i64 %t, ptr %out) {
  %v = call float asm "tex.1d.v4.f32.s32 {$0, _, _, _}, [$1, {0}];", "=f,l"(i64 %t)
  store float %v, ptr %out
  ret void
}
define internal i32 @callee(i64 %t) {
  %v = call i32 asm sideeffect "{ .reg .pred p; mov.u32 $0, 1; txq.width.b32 $0, [$1]; }", "=r,l"(i64 %t)
  ret i32 %v
}
define ptx_kernel void @by_callee(i64 %t, ptr %out) {
  %v = call i32 @callee(i64 %t)
  store i32 %v, ptr %out
  ret void
}
declare i32 @llvm.nvvm.suq.width(i64)
define ptx_kernel void @by_intrinsic(i64 %t, ptr %out) {
  %v = call i32 @llvm.nvvm.suq.width(i64 %t)
  store i32 %v, ptr %out
  ret void
}
define ptx_kernel void @guarded(i64 %t, i32 %v) {
  call void asm sideeffect "{\0A\09.reg .pred p;\0A\09setp.ne.u32 p, $1, 0;\0A\09@p sust.b.1d.b32.trap [$0, {0}], {$1};\0A\09}", "l,r"(i64 %t, i32 %v)
  ret void
}
define ptx_kernel void @not_at_all(ptr %out) {
  %v = call i32 asm "{ .reg .u32 texture, suq2; mov.u32 texture, 1; mov.u32 $0, texture; }", "=r"()
  store i32 %v, ptr %out
  ret void
}
