; An alias keeps what it stands for; available_externally code comes along; other linkages are kept.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments --ir %t.ll | FileCheck %s
; RUN: sed -e 's/nvptx64-nvidia-cuda/amdgcn-amd-amdhsa/;s/ptx_kernel/amdgpu_kernel/' %s > %t.amd.in.ll
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %t.amd.in.ll -o %t.amd.ll && %segments --ir %t.amd.ll | FileCheck %s
; CHECK: segment kernel kernel
; CHECK: @renamed = alias void (), ptr @real
; CHECK-DAG: define internal void @real()
; CHECK-DAG: define weak void @weak()
; CHECK-DAG: define linkonce_odr void @elsewhere()
; CHECK: 1 segments
target triple = "nvptx64-nvidia-cuda"
@renamed = alias void (), ptr @real
define internal void @real() { ret void }
define weak void @weak() { ret void }
define available_externally void @elsewhere() { ret void }
define ptx_kernel void @kernel() {
  call void @renamed()
  call void @weak()
  call void @elsewhere()
  ret void
}
