// Texture and surface functions as clang's and CUDA's headers have them.
// RUN: %mneme-cuda --cuda-device-only -O2 -c %s -o %t.cubin && %segments %t.cubin | FileCheck %s
// RUN: %mneme-cuda --cuda-device-only -O0 -c %s -o %t.cubin && %segments %t.cubin | FileCheck %s
// CHECK: demangled read_surface(unsigned long long, float*)
// CHECK: uses textures
// CHECK: demangled read_texture(unsigned long long, float*)
// CHECK: uses textures
// CHECK: demangled sample(unsigned long long, float*)
// CHECK: uses textures
__global__ void read_surface(cudaSurfaceObject_t surface, float* out) { *out = surf2Dread<float>(surface, 4, 0); }
__global__ void read_texture(cudaTextureObject_t texture, float* out) { *out = tex1Dfetch<float>(texture, 3); }
__global__ void sample(cudaTextureObject_t texture, float* out) { *out = tex3D<float4>(texture, 0.5f, 0.5f, 0.5f).x; }
