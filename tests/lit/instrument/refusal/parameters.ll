; A kernel that no launch can pass its parameters to.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll 2>&1 | FileCheck %s
; RUN: %segments %t.ll | FileCheck --check-prefix=SEGMENTS %s
; CHECK: warning: mneme: kernel 'scalable' is compiled but cannot be recorded: parameter 1 has no fixed size
; SEGMENTS: {{^}}0 segments
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @scalable(i32 %x, <vscale x 4 x i32> %v) { ret void }
