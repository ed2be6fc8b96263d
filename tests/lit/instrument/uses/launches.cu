// Launches from the device. The functions of the CUDA device runtime by which they are made are no other file's.
// RUN: %mneme-cuda --cuda-device-only -fgpu-rdc -O2 -c %s -o %t.o && %segments %t.o | FileCheck %s
// CHECK: demangled child(int*)
// CHECK-NOT: uses
// CHECK: demangled parent(int*)
// CHECK: uses device launch
// CHECK-NOT: needs __cuda
__global__ void child(int* words) { ++words[threadIdx.x]; }
__global__ void parent(int* words) { child<<<1, 32>>>(words); }
