; Under relocatable device code other files may use constants, too. Shared memory and what the compiler makes for itself are not offered.
; RUN: %mneme-opt -passes='mneme-instrument<rdc>' -S %s -o %t.ll && %segments %t.ll | FileCheck %s
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.whole.ll && %segments %t.whole.ll | FileCheck --check-prefix=WHOLE %s
; CHECK: segment global coefficients
; CHECK: segment global counter
; CHECK: segment global generic
; CHECK: {{^}}3 segments
; WHOLE: {{^}}0 segments
target triple = "nvptx64-nvidia-cuda"
@coefficients = addrspace(4) externally_initialized global [4 x i32] zeroinitializer
@counter = addrspace(1) global i32 0
@generic = weak global i32 0
@tile = addrspace(3) global [4 x i32] undef
@from_elsewhere = external addrspace(1) global i32
@in_header = linkonce_odr addrspace(1) global i32 0
@own = internal addrspace(1) global i32 0
@__hip_cuid_0123 = addrspace(1) global i8 0
@__clang_gpu_used = addrspace(1) global i8 0
