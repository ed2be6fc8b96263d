// Segments stand whole in the device image at every optimisation level, and code generation is otherwise left alone.
// RUN: %mneme-cuda --cuda-device-only -O0 -c %s -o %t.O0.cubin && %segments %t.O0.cubin | FileCheck %s
// RUN: %mneme-cuda --cuda-device-only -O1 -c %s -o %t.O1.cubin && %segments %t.O1.cubin | FileCheck %s
// RUN: %mneme-cuda --cuda-device-only -O3 -g -c %s -o %t.O3.cubin && %segments %t.O3.cubin | FileCheck %s
// RUN: llvm-readelf --symbols %t.O3.cubin | FileCheck --check-prefix=SYMBOL %s
// RUN: %mneme-cuda --cuda-device-only -O2 -S %s -o %t.mneme.s
// RUN: %plain-cuda --cuda-device-only -O2 -S %s -o %t.plain.s
// RUN: grep -v __mneme_segment_ %t.mneme.s > %t.rest.s
// RUN: diff %t.plain.s %t.rest.s
// RUN: %mneme-amd -O2 -c %s -DNO_MATH -o %t.hsaco --no-gpu-bundle-output && %segments %t.hsaco | FileCheck %s
// RUN: %mneme-amd -O0 -g -c %s -DNO_MATH -o %t.hsaco --no-gpu-bundle-output && %segments %t.hsaco | FileCheck %s
// The section is not loaded to the device, and stands where symbols are stripped.
// RUN: llvm-readelf --sections %t.hsaco | FileCheck --check-prefix=SECTION %s
// RUN: llvm-objcopy --strip-unneeded %t.hsaco %t.stripped && %segments %t.stripped | FileCheck %s
// RUN: %mneme-amd -fuse-cuid=none -O2 -S %s -DNO_MATH -o %t.mneme.amd.s --no-gpu-bundle-output
// RUN: %plain-amd -fuse-cuid=none -O2 -S %s -DNO_MATH -o %t.plain.amd.s --no-gpu-bundle-output
// RUN: sed '/; Start of file scope/,/; End of file scope/d' %t.mneme.amd.s > %t.rest.amd.s
// RUN: diff %t.plain.amd.s %t.rest.amd.s
// CHECK: segment kernel _Z5scalePffi
// CHECK: 1 segments
// SYMBOL: OBJECT WEAK DEFAULT {{.*}} __mneme_segment_{{[0-9a-f]+$}}
// SECTION: .mneme PROGBITS 0000000000000000 {{[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ M? ?}}0 0 8
#ifdef NO_MATH
#include "gpu.h"
#define sinf(x) (x)
#endif
__global__ void scale(float* x, float a, int n) {
  if (n > 0) x[n] *= sinf(a);
}
