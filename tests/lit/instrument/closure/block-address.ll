; Addresses of blocks, in code and in tables, are those of the copy.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --ir %t.ll | FileCheck %s
; CHECK: @targets = internal constant [2 x ptr] [ptr blockaddress(@kernel, %one), ptr blockaddress(@kernel, %two)]
; CHECK: define ptx_kernel void @kernel(
; CHECK: 1 segments
target triple = "nvptx64-nvidia-cuda"
@targets = internal constant [2 x ptr] [ptr blockaddress(@kernel, %one), ptr blockaddress(@kernel, %two)]
define ptx_kernel void @kernel(i64 %x) {
  %slot = getelementptr ptr, ptr @targets, i64 %x
  %target = load ptr, ptr %slot
  indirectbr ptr %target, [label %one, label %two]
one:
  br label %two
two:
  ret void
}
