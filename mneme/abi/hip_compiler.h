/* What the headers and libraries of ROCm expect of the compiler and clang 22 no longer has. Of those before 7: the width of a
 * wavefront as a macro, and a constant that the mathematical functions ask for. Of those before 6 too: a fence of a library of
 * device functions that clang no longer links, the reciprocals of half-precision numbers, which clang's own header declared, and
 * atomic operations that wrap around. `mneme config --hip cxxflags` has clang include this file before every file. It is nothing
 * but in HIP files. Tried with the headers of 5.2 and of 6.2.
 */
#ifndef MNEME_ABI_HIP_COMPILER_H
#define MNEME_ABI_HIP_COMPILER_H
#if defined(__HIP__) && __has_include(<hip/hip_version.h>)
#include <hip/hip_version.h>

/* On the host too, where the width is that of the devices on which HIP began. */
#ifndef __AMDGCN_WAVEFRONT_SIZE
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

#if HIP_VERSION_MAJOR < 6
/* hip_fp16.h calls these, on the host's side too, where clang reads the bodies of device functions and makes no code of them. */
typedef _Float16 mneme_half2 __attribute__((ext_vector_type(2)));
static inline __attribute__((device, always_inline)) _Float16 __llvm_amdgcn_rcp_f16(_Float16 x) {
  return (_Float16)__builtin_amdgcn_rcph(x);
}
static inline __attribute__((device, always_inline)) mneme_half2 __llvm_amdgcn_rcp_2f16(mneme_half2 x) {
  mneme_half2 reciprocals = {__llvm_amdgcn_rcp_f16(x.x), __llvm_amdgcn_rcp_f16(x.y)};
  return reciprocals;
}

/* amd_hip_atomic.h declares intrinsics that LLVM has no more under these names, for atomicInc and atomicDec, and calls them. Of
 * their declaration, whose last parameter is `bool`, a function is left that nobody calls. Of the call, whose last argument is
 * `false`, a call of one that is there. */
#define __builtin_amdgcn_atomic_inc(address, value, order, scope, last) \
  mneme_atomic_inc_##last(address, value, order, scope, last)
#define __builtin_amdgcn_atomic_dec(address, value, order, scope, last) \
  mneme_atomic_dec_##last(address, value, order, scope, last)
static inline __attribute__((device, always_inline)) unsigned mneme_atomic_inc_false(unsigned* address, unsigned value, int order,
                                                                                     int scope, int last) {
  (void)order, (void)scope, (void)last;
  return __builtin_amdgcn_atomic_inc32(address, value, __ATOMIC_RELAXED, "agent");
}
static inline __attribute__((device, always_inline)) unsigned mneme_atomic_dec_false(unsigned* address, unsigned value, int order,
                                                                                     int scope, int last) {
  (void)order, (void)scope, (void)last;
  return __builtin_amdgcn_atomic_dec32(address, value, __ATOMIC_RELAXED, "agent");
}
#endif

#ifdef __HIP_DEVICE_COMPILE__
#if HIP_VERSION_MAJOR < 6 && __has_include(<hip/amd_detail/device_library_decls.h>)
#include <hip/amd_detail/device_library_decls.h>

/* The order and the scope are constants wherever the headers call it, and must be in the instruction. */
#define MNEME_FENCE_IN(order, scope)                                               \
  switch (order) {                                                                 \
    case __ATOMIC_RELAXED: break;                                                  \
    case __ATOMIC_CONSUME:                                                         \
    case __ATOMIC_ACQUIRE: __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, scope); break; \
    case __ATOMIC_RELEASE: __builtin_amdgcn_fence(__ATOMIC_RELEASE, scope); break; \
    case __ATOMIC_ACQ_REL: __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, scope); break; \
    default: __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, scope); break;               \
  }

static inline __attribute__((device, always_inline)) void mneme_work_item_fence(int order, int scope) {
  switch (scope) {
    case 0: break; /* of the work item alone */
    case 1: MNEME_FENCE_IN(order, "workgroup") break;
    case 2: MNEME_FENCE_IN(order, "agent") break;
    case 4: MNEME_FENCE_IN(order, "wavefront") break;
    default: MNEME_FENCE_IN(order, "") break; /* all devices */
  }
}
#undef MNEME_FENCE_IN
#define __atomic_work_item_fence(flags, order, scope) mneme_work_item_fence(order, scope)
#endif

#if HIP_VERSION_MAJOR < 7
/* Whether denormal numbers are zero: they are not. clang says it by an attribute of each function instead. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"
extern "C" {
inline __attribute__((device, used, visibility("hidden"))) constexpr unsigned char __oclc_daz_opt = 0;
}
#pragma clang diagnostic pop
#endif
#endif

#endif
#endif
