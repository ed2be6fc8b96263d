/* Annotations: what a program says about its buffers, so that a replay compares them with a tolerance and not byte for byte.
 *
 *   #include <mneme/annotate.h>
 *   mneme::annotate(y, n, {MNEME_F32, 1e-5, MNEME_RELATIVE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "forces"});
 *   mneme::annotate(&histogram, {MNEME_U32, 1});          // a __device__ variable, as a whole; in C: mneme_annotate
 *
 * C99, C++11 and CUDA, and no library: in a program that is linked with `mneme config ldflags` and runs under `mneme record`
 * the annotation is kept with every launch that is recorded from then on; in every other program and run the call does nothing.
 *
 * The pointer may lie anywhere in memory of the CUDA runtime that is recorded, or in a __device__ variable: the variable's own
 * name, or its address on the device. What was said before of the same bytes is replaced, of others it is kept; all is
 * forgotten when the memory is freed. What cannot be kept is said once on standard error, and ignored. Thread-safe.
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

/* What the threshold bounds: the difference from the recorded value, that divided by the recorded value's magnitude, or the
 * number of values of the type between the two. */
enum mneme_error { MNEME_ABSOLUTE = 0, MNEME_RELATIVE = 1, MNEME_ULP = 2 };

/* Of what: of every element, or of all annotated elements together, by a norm of the differences. */
enum mneme_norm { MNEME_NO_NORM = 0, MNEME_L1 = 1, MNEME_L2 = 2, MNEME_LINF = 3 };

/* A NaN has to be where one was recorded and nowhere else; is left out of the comparison; fails even where one was recorded. */
enum mneme_nan { MNEME_NAN_AS_RECORDED = 0, MNEME_NAN_ANY = 1, MNEME_NAN_NONE = 2 };

/* So that a C++ program names only the first two. */
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
/* Null where the program is not linked with Mneme. Not to be called: mneme_annotate is. */
__attribute__((weak)) void mneme_annotate_hook(const void* pointer, uint64_t count, const struct mneme_annotation* annotation);
#ifdef __cplusplus
}
#endif

/* `count` elements from `pointer` on; 0: as many as there are to the end of the allocation or variable. */
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
