; Kernels that differ in one thing each have hashes of their own. (The suffix of their names does not count.)
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --hash %t.ll | sed -e 's/ .*//' | sort | uniq -c | FileCheck %s
; CHECK-NOT: {{^ *[2-9] }}
; CHECK-COUNT-13: {{^ *1 [0-9a-f]+$}}
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
