; Each way in which code may change a variable of the file's own, or let go of its address; where it does neither, the variable is no state.
; RUN: %mneme-opt -passes='mneme-instrument<no-rdc>' -S %s -o %t.ll && %segments %t.ll | FileCheck %s
; CHECK: segment kernel k
; CHECK-NOT: read_
; CHECK-DAG: global by_memset__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_memcpy__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_select__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_phi__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_freeze__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_mask__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_callee__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_exchange__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global by_slot__mneme {{.*}} align 4{{$}}
; CHECK-DAG: global let_go_by_exchange__mneme {{.*}} align 4 escapes{{$}}
; CHECK-DAG: global let_go_by_slot__mneme {{.*}} align 4 escapes{{$}}
; CHECK-DAG: global let_go_by_return__mneme {{.*}} align 4 escapes{{$}}
; CHECK-DAG: global let_go_by_phi__mneme {{.*}} align 4 escapes{{$}}
; CHECK-NOT: read_
; CHECK: {{^}}1 segments
target triple = "nvptx64-nvidia-cuda"
@by_memset = internal global i32 0, align 4
@by_memcpy = internal global i32 0, align 4
@by_select = internal global i32 0, align 4
@by_phi = internal global i32 0, align 4
@by_freeze = internal global i32 0, align 4
@by_mask = internal global i32 0, align 4
@by_callee = internal global i32 0, align 4
@by_exchange = internal global i32 0, align 4
@by_slot = internal global i32 0, align 4
@let_go_by_exchange = internal global i32 0, align 4
@let_go_by_slot = internal global i32 0, align 4
@let_go_by_return = internal global i32 0, align 4
@let_go_by_phi = internal global i32 0, align 4
@read_by_memcpy = internal global i32 0, align 4
@read_by_select = internal global i32 0, align 4
@read_by_slot = internal global i32 0, align 4
@read_by_compare = internal global i32 0, align 4
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
define internal void @callee(i32 %x, ptr %to) {
  store i32 %x, ptr %to
  ret void
}
define internal ptr @gives() { ret ptr @let_go_by_return }
define ptx_kernel void @k(ptr %p, i1 %c, ptr %f) {
entry:
  call void @llvm.memset.p0.i64(ptr @by_memset, i8 1, i64 4, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr @by_memcpy, ptr @read_by_memcpy, i64 4, i1 false)
  %selected = select i1 %c, ptr @by_select, ptr %p
  store i32 1, ptr %selected
  %chosen = select i1 %c, ptr @read_by_select, ptr %p
  %value = load i32, ptr %chosen
  %frozen = freeze ptr @by_freeze
  store i32 1, ptr %frozen
  %masked = call ptr @llvm.ptrmask.p0.i64(ptr @by_mask, i64 -4)
  store i32 1, ptr %masked
  call void @callee(i32 1, ptr @by_callee)
  %1 = cmpxchg ptr @by_exchange, i32 0, i32 1 monotonic monotonic
  %2 = cmpxchg ptr %p, ptr null, ptr @let_go_by_exchange monotonic monotonic
  %compared = icmp eq ptr %p, @read_by_compare
  %slot = alloca ptr
  store ptr @by_slot, ptr %slot
  %loaded = load ptr, ptr %slot
  store i32 1, ptr %loaded
  %read_slot = alloca ptr
  store ptr @read_by_slot, ptr %read_slot
  %read = load ptr, ptr %read_slot
  %read_value = load i32, ptr %read
  %known_slot = alloca ptr
  store ptr @let_go_by_slot, ptr %known_slot
  store ptr %known_slot, ptr %p
  store ptr @gives, ptr %f
  br i1 %c, label %one, label %two
one:
  br label %two
two:
  %either = phi ptr [@by_phi, %entry], [%p, %one]
  %gone = phi ptr [@let_go_by_phi, %entry], [%p, %one]
  store i32 1, ptr %either
  store ptr %gone, ptr %p
  ret void
}
