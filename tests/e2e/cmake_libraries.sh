# add_mneme on a static library, whose users become recordable by linking it, on a shared library, and beside C++ sources.
cat >kernels.cu <<'SOURCE'
__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
int WHERE(int* device, int value) {
  fill<<<1, 32>>>(device, value);
  return cudaDeviceSynchronize();
}
SOURCE
cat >memory.cpp <<'SOURCE'
#include <cuda_runtime.h>
int* get_memory() { int* device = nullptr; cudaMalloc(&device, 128); return device; }
int first_of(int* device) { int value = -1; cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost); return value; }
SOURCE
cat >main.cpp <<'SOURCE'
#include <cstdio>
int* get_memory();
int first_of(int* device);
int in_static(int* device, int value);
int in_shared(int* device, int value);
int main() {
  int* device = get_memory();
  int failed = in_static(device, 5);
  int first = first_of(device);
  failed += in_shared(device, 7);
  std::printf("failed %d first %d second %d\n", failed, first, first_of(device));
}
SOURCE
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(libraries LANGUAGES CXX)
find_package(mneme REQUIRED)
add_library(in_static STATIC kernels.cu memory.cpp)
target_compile_definitions(in_static PRIVATE WHERE=in_static)
add_mneme(in_static)
add_library(in_shared SHARED kernels.cu)
target_compile_definitions(in_shared PRIVATE WHERE=in_shared)
add_mneme(in_shared ARCH sm_80)
add_executable(app main.cpp)
target_link_libraries(app PRIVATE in_static in_shared)
PROJECT
expect 0 "$cmake" -B build -G Ninja -DCMAKE_CXX_COMPILER="$(mneme config cxx)" -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
expect 0 "$cmake" --build build
expect 0 mneme run --device cpu -- build/app
contains out "failed 0 first 5 second 7"
expect 0 mneme record -rdb db --device cpu -- build/app
contains out "failed 0 first 5 second 7"
contains err "recorded 2 launches"

# What add_mneme refuses, and how it says so.
refuses() {
  rm -rf refused && mkdir refused && cp kernels.cu refused
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(mneme REQUIRED)\nadd_library(l STATIC kernels.cu)\n%s\n' "$1" >refused/CMakeLists.txt
  expect 1 "$cmake" -S refused -B refused/build -G Ninja -DCMAKE_CXX_COMPILER="$(mneme config cxx)" -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
  tr -s '\n ' ' ' <err >err.line
  contains err.line "$2"
}
refuses 'add_mneme(nothing)' 'add_mneme: there is no target nothing'
refuses 'add_mneme(l RCD)' 'what is RCD? The arguments are RDC, HIP, PLATFORM amd|nvidia and ARCH <arch>.'
refuses 'set_target_properties(l PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
add_mneme(l)' 'clang cannot do CUDA_SEPARABLE_COMPILATION: turn it off and say add_mneme(l RDC)'
