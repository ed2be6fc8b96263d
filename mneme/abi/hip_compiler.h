/* What the headers and libraries of ROCm before 6 expect of the compiler and clang 22 no longer has: the width of a wavefront as
 * a macro, a fence of a library of device functions that clang no longer links, a constant that the mathematical ones ask for,
 * and the reciprocals of half-precision numbers, which clang's own header declared. `mneme config --hip cxxflags` has clang
 * include this file before every file. It is nothing but in HIP files. With ROCm 6 and newer it has not been tried.
 */
#ifndef MNEME_ABI_HIP_COMPILER_H
#define MNEME_ABI_HIP_COMPILER_H
#ifdef __HIP__

/* On the host too, where the width is that of the devices on which HIP began. */
#ifndef __AMDGCN_WAVEFRONT_SIZE
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

/* hip_fp16.h calls these, on the host's side too, where clang reads the bodies of device functions and makes no code of them. */
typedef _Float16 mneme_half2 __attribute__((ext_vector_type(2)));
static inline __attribute__((device, always_inline)) _Float16 __llvm_amdgcn_rcp_f16(_Float16 x) {
  return (_Float16)__builtin_amdgcn_rcph(x);
}
static inline __attribute__((device, always_inline)) mneme_half2 __llvm_amdgcn_rcp_2f16(mneme_half2 x) {
  mneme_half2 reciprocals = {__llvm_amdgcn_rcp_f16(x.x), __llvm_amdgcn_rcp_f16(x.y)};
  return reciprocals;
}

#if defined(__HIP_DEVICE_COMPILE__) && __has_include(<hip/amd_detail/device_library_decls.h>)
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

#include <hip/hip_version.h>
#if HIP_VERSION_MAJOR < 6
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
