/* Annotations: what a program says about its buffers, so that a replay compares them with a tolerance and not byte for byte.
 *
 *   #include <mneme/annotate.h>
 *   mneme::annotate(y, n, {MNEME_F32, 1e-5, MNEME_RELATIVE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "forces"});
 *   mneme::annotate(&histogram, {MNEME_U32, 1});          // a __device__ variable, as a whole; in C: mneme_annotate
 *
 * The header works in C99, C++11 and CUDA and needs no library. In a program that is linked with `mneme config ldflags` and runs
 * under `mneme record`, Mneme keeps the annotation with every launch that it records from then on. In every other program and
 * run the call does nothing.
 *
 * The pointer may lie anywhere in recorded memory: in an allocation of the CUDA runtime on the device, in pinned host memory, or
 * in a __device__ variable. A variable is given by its own name (&histogram) or by its address on the device. A later annotation
 * replaces what earlier ones said of the same bytes; of other bytes they still hold. Annotations end when the memory is freed.
 * One that cannot be kept is ignored, and a warning on standard error says why, once for each reason. Thread-safe.
 */
#ifndef MNEME_ABI_ANNOTATE_H
#define MNEME_ABI_ANNOTATE_H

#include <stdint.h>

/* The type of the elements. */
enum mneme_dtype {
  MNEME_F16 = 0,
  MNEME_BF16 = 1,
  MNEME_F8E4M3 = 2,
  MNEME_F8E5M2 = 3,
  MNEME_F32 = 4,
  MNEME_F64 = 5,
  MNEME_I8 = 6,
  MNEME_I16 = 7,
  MNEME_I32 = 8,
  MNEME_I64 = 9,
  MNEME_U8 = 10,
  MNEME_U16 = 11,
  MNEME_U32 = 12,
  MNEME_U64 = 13,
  MNEME_COMPLEX64 = 14, /* two f32: real, imaginary */
  MNEME_COMPLEX128 = 15 /* two f64 */
};

/* What the threshold bounds. MNEME_ABSOLUTE: the difference from the recorded value. MNEME_RELATIVE: that difference divided by
 * the recorded value's magnitude. MNEME_ULP: how many representable values of the type the two are apart. */
enum mneme_error { MNEME_ABSOLUTE = 0, MNEME_RELATIVE = 1, MNEME_ULP = 2 };

/* Whether the threshold holds for each element (MNEME_NO_NORM), or for a norm of the differences of all annotated elements. */
enum mneme_norm { MNEME_NO_NORM = 0, MNEME_L1 = 1, MNEME_L2 = 2, MNEME_LINF = 3 };

/* How NaNs compare. MNEME_NAN_AS_RECORDED: a NaN must be where one was recorded, and nowhere else. MNEME_NAN_ANY: an element in
 * which either value is a NaN is left out of the comparison. MNEME_NAN_NONE: a NaN fails, even where one was recorded. */
enum mneme_nan { MNEME_NAN_AS_RECORDED = 0, MNEME_NAN_ANY = 1, MNEME_NAN_NONE = 2 };

/* Defaults for C++14 and later, where a program then names only the element type and the threshold. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define MNEME_BY_DEFAULT(value) = value
#else
#define MNEME_BY_DEFAULT(value)
#endif

struct mneme_annotation {
  enum mneme_dtype dtype;
  double threshold; /* finite, not negative; an error of exactly this is still right */
  enum mneme_error error MNEME_BY_DEFAULT(MNEME_ABSOLUTE);
  enum mneme_norm norm MNEME_BY_DEFAULT(MNEME_NO_NORM);
  enum mneme_nan nan MNEME_BY_DEFAULT(MNEME_NAN_AS_RECORDED);
  const char* tag MNEME_BY_DEFAULT(nullptr); /* a name for reports and for `mneme replay --tolerance`, or null; copied */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Call mneme_annotate, not this. It is null in a program that is not linked with Mneme. */
__attribute__((weak)) void mneme_annotate_hook(const void* pointer, uint64_t count, const struct mneme_annotation* annotation);
#ifdef __cplusplus
}
#endif

/* Annotates `count` elements from `pointer` on. With a count of 0, all up to the end of the allocation or variable. */
static inline void mneme_annotate(const void* pointer, uint64_t count, const struct mneme_annotation* annotation) {
  if (mneme_annotate_hook) mneme_annotate_hook(pointer, count, annotation);
}

#ifdef __cplusplus
namespace mneme {
inline void annotate(const void* pointer, uint64_t count, const mneme_annotation& annotation) {
  mneme_annotate(pointer, count, &annotation);
}
inline void annotate(const void* pointer, const mneme_annotation& annotation) { mneme_annotate(pointer, 0, &annotation); }
}  // namespace mneme
#endif

#endif
