// What the memory and element kernels need of the device that they are compiled for: NVIDIA's PTX, or AMD's architectures with
// waves of 64 or 32 threads. No header of CUDA or ROCm is needed. A wave is what NVIDIA calls a warp.
//
// Only included where kernels are compiled for a GPU; memory_kernels_host.h has the same for the host.
#pragma once

#define MNEME_DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define MNEME_MEMBER __attribute__((device)) inline __attribute__((always_inline))

#if defined(__AMDGCN__)

// Blocks have 256 threads (LazyMemoryKernels::kThreads): for the 1024 that there may be else, registers would be spilled.
#define MNEME_KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))

MNEME_DEVICE unsigned thread_in_block() { return __builtin_amdgcn_workitem_id_x(); }
MNEME_DEVICE unsigned threads_in_block() { return __builtin_amdgcn_workgroup_size_x(); }
MNEME_DEVICE unsigned block_in_grid() { return __builtin_amdgcn_workgroup_id_x(); }
MNEME_DEVICE unsigned blocks_in_grid() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
MNEME_DEVICE unsigned threads_in_wave() { return __builtin_amdgcn_wavefrontsize(); }
MNEME_DEVICE unsigned long long add(unsigned long long* to, unsigned long long value) {
  return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
MNEME_DEVICE unsigned long long exchange(unsigned long long* to, unsigned long long value) {
  return __hip_atomic_exchange(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
MNEME_DEVICE void lower(unsigned long long* to, unsigned long long value) {
  __hip_atomic_fetch_min(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// What the thread `distance` further in the wave has; anything where there is none.
MNEME_DEVICE unsigned from_lane(unsigned value, int distance) {
  const unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return (unsigned)__builtin_amdgcn_ds_bpermute((int)(4 * (lane + (unsigned)distance)), (int)value);
}
MNEME_DEVICE void wait_for_block() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// Between a thread's accesses of memory, as all threads of the device see them.
MNEME_DEVICE void order_on_device() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }

#else

#define MNEME_KERNEL extern "C" __attribute__((global))

MNEME_DEVICE unsigned thread_in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
MNEME_DEVICE unsigned threads_in_block() { return __nvvm_read_ptx_sreg_ntid_x(); }
MNEME_DEVICE unsigned block_in_grid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MNEME_DEVICE unsigned blocks_in_grid() { return __nvvm_read_ptx_sreg_nctaid_x(); }
MNEME_DEVICE constexpr unsigned threads_in_wave() { return 32; }
MNEME_DEVICE unsigned long long add(unsigned long long* to, unsigned long long value) {
  return (unsigned long long)__nvvm_atom_add_gen_ll((long long*)to, (long long)value);
}
MNEME_DEVICE unsigned long long exchange(unsigned long long* to, unsigned long long value) {
  return (unsigned long long)__nvvm_atom_xchg_gen_ll((long long*)to, (long long)value);
}
MNEME_DEVICE void lower(unsigned long long* to, unsigned long long value) { __nvvm_atom_min_gen_ull(to, value); }
MNEME_DEVICE unsigned from_lane(unsigned value, int distance) {
  return (unsigned)__nvvm_shfl_sync_down_i32(0xffffffffu, (int)value, distance, 31);
}
MNEME_DEVICE void wait_for_block() { __syncthreads(); }
MNEME_DEVICE void order_on_device() { __nvvm_membar_gl(); }

#endif

MNEME_DEVICE unsigned long long from_lane(unsigned long long value, int distance) {
  unsigned low = from_lane((unsigned)value, distance);
  unsigned high = from_lane((unsigned)(value >> 32), distance);
  return (unsigned long long)high << 32 | low;
}
MNEME_DEVICE double from_lane(double value, int distance) {
  return __builtin_bit_cast(double, from_lane(__builtin_bit_cast(unsigned long long, value), distance));
}
// Stores the sum of what the block's threads bring; every thread of the block calls it. True in one of them, for which the sum is
// there. The block has a multiple of 64 threads, since waves are whole.
MNEME_DEVICE bool store_block_sum(unsigned long long* to, unsigned long long value) {
  constexpr unsigned kMostWaves = 32;
  static __attribute__((shared)) unsigned long long of_waves[kMostWaves];
  const unsigned wave_size = threads_in_wave();
  for (int distance = (int)wave_size / 2; distance > 0; distance /= 2) value += from_lane(value, distance);
  wait_for_block();  // until what an earlier call has left was read
  if (thread_in_block() % wave_size == 0) of_waves[thread_in_block() / wave_size] = value;
  wait_for_block();
  if (thread_in_block() != 0) return false;
  for (unsigned wave = 1; wave < threads_in_block() / wave_size; ++wave) value += of_waves[wave];
  *to = value;
  return true;
}
// Every thread of the launch calls it, once. True in one of them, after all that the others have done before. `blocks` is 0
// before the launch and after it.
MNEME_DEVICE bool is_last_of_launch(unsigned long long* blocks) {
  wait_for_block();
  if (thread_in_block() != 0) return false;
  order_on_device();
  if (add(blocks, 1) + 1 != blocks_in_grid()) return false;
  order_on_device();
  exchange(blocks, 0);
  return true;
}
