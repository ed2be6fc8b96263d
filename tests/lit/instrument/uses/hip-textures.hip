// REQUIRES: rocm
// What textures.cu asks of CUDA, of HIP, whose functions are in a library of device functions. Linear memory is a buffer.
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O2 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// RUN: %mneme-hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O0 -c %s -o %t.hsaco && %segments %t.hsaco | FileCheck %s
// CHECK: demangled read_surface(
// CHECK: uses textures
// CHECK: demangled read_texture(
// CHECK: uses textures
// CHECK: demangled write_surface(
// CHECK: uses textures
// CHECK: demangled none(float*)
// CHECK-NOT: uses
// CHECK: demangled sample(
// CHECK: uses textures
#include <hip/hip_runtime.h>
__global__ void none(float* out) { *out = 1; }
__global__ void read_surface(hipSurfaceObject_t surface, float* out) { surf2Dread(out, surface, 4, 0); }
__global__ void read_texture(hipTextureObject_t texture, float* out) { *out = tex1Dfetch<float>(texture, 3); }
__global__ void sample(hipTextureObject_t texture, float* out) { *out = tex3D<float4>(texture, 0.5f, 0.5f, 0.5f).x; }
__global__ void write_surface(hipSurfaceObject_t surface, float in) { surf2Dwrite(in, surface, 4, 0); }
