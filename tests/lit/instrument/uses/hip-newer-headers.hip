// What `mneme config --hip` includes before each file asks nothing of the headers of ROCm 6 and newer, which name types that they do not declare
// themselves, and have what older ones lack.
// RUN: mkdir -p %t/include/hip/amd_detail
// RUN: echo "#define HIP_VERSION_MAJOR 6" > %t/include/hip/hip_version.h
// RUN: echo "extern \"C\" __attribute__((device)) uint64_t __ockl_clz_u64(uint64_t);" > %t/include/hip/amd_detail/device_library_decls.h
// RUN: %mneme-gfx --offload-arch=gfx942 -isystem %t/include -include %hip-compiler-header -c %s -o %t.o && %segments %t.o | FileCheck %s
// CHECK: target amdgcn gfx942
// CHECK: 1 segments
#include "gpu.h"
inline __device__ float __llvm_amdgcn_rcp_f16(_Float16 x) { return 1.0f / (float)x; }
__global__ void k(float* p) { *p = __AMDGCN_WAVEFRONT_SIZE + __llvm_amdgcn_rcp_f16((_Float16)*p); }
