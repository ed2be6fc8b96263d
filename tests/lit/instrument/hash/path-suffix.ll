; clang's suffix of a static kernel's name under relocatable device code is a hash of the file's path, written as a number: leading
; zeros are left out. Whatever its length, it does not count. Neither do the suffixes that LLVM makes.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --hash %t.ll | sed -e 's/ .*//' | sort | uniq -c | FileCheck %s
; CHECK: {{^ *}}5 {{[0-9a-f]+$}}
; CHECK-NOT: {{.}}
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k__intern__0123456789abcdef(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__intern__dbc8044ca1f7529(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k__static__7(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k.llvm.1234567890(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define ptx_kernel void @k.__uniq.9876543210(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
