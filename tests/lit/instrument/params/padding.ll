; Which bytes of parameters are padding, where the types alone tell it: of each element of an array, and of the tail that clang spells out.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments %t.ll | FileCheck %s
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%struct.Pair = type { i8, i16 }
%class.anon = type <{ double, i8, [7 x i8] }>
%class.anon.1 = type <{ i32, [4 x i8] }>
%class.anon.2 = type <{ double, i8, i8 }>
%struct.Tail = type <{ ptr, i32, [4 x i8] }>
%struct.Tail.base = type <{ ptr, i32 }>
%struct.Data = type <{ ptr, i32, [4 x i8] }>
%struct.Data.base = type <{ ptr, i16, i16 }>
%struct.Alone = type <{ ptr, i32, [4 x i8] }>
@keep = external global { %struct.Tail.base, %struct.Data.base }
; CHECK: segment kernel k1
; CHECK: param-bytes 12
; CHECK:      padding offset 1 size 1
; CHECK-NEXT: padding offset 5 size 1
; CHECK-NEXT: padding offset 9 size 1
; CHECK-NOT:  padding
define ptx_kernel void @k1(ptr byval([3 x %struct.Pair]) align 2 %s) { ret void }
; A lambda that captures a double and a char; one that captures an int and four chars; one whose last byte is a char.
; CHECK: segment kernel k2
; CHECK:      padding offset 9 size 7
; CHECK-NOT:  padding
define ptx_kernel void @k2(ptr byval(%class.anon) align 8 %s) { ret void }
; CHECK: segment kernel k3
; CHECK-NOT:  padding
define ptx_kernel void @k3(ptr byval(%class.anon.1) align 8 %s) { ret void }
; CHECK: segment kernel k4
; CHECK-NOT:  padding
define ptx_kernel void @k4(ptr byval(%class.anon.2) align 8 %s) { ret void }
; CHECK: segment kernel k5
; CHECK:      padding offset 12 size 4
; CHECK-NOT:  padding
define ptx_kernel void @k5(ptr byval(%struct.Tail) align 8 %s) { ret void }
; Without a type of the same members but these, they may be the program's own.
; CHECK: segment kernel k6
; CHECK-NOT:  padding
define ptx_kernel void @k6(ptr byval(%struct.Data) align 8 %s) { ret void }
; CHECK: segment kernel k7
; CHECK-NOT:  padding
define ptx_kernel void @k7(ptr byval(%struct.Alone) align 8 %s) { ret void }
; CHECK: 7 segments
