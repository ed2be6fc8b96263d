# Device code in another file: by CMake and by hand; and what is said when --offload-link is missing.
cat >device.cu <<'SOURCE'
__device__ int offset = 5;
__device__ int twice(int x) { return 2 * x + offset; }
SOURCE
cat >main.cu <<'SOURCE'
#include <cstdio>
extern __device__ int offset;
__device__ int twice(int x);
__global__ void fill(int* out) { out[threadIdx.x] = twice(threadIdx.x) + offset; }
int main() {
  int *device, host[64];
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 2;
  fill<<<1, 64>>>(device);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  for (int i = 0; i < 64; ++i) if (host[i] != 2 * i + 10) return 4;
  std::puts("rdc: PASS");
}
SOURCE
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(rdc LANGUAGES CXX)
find_package(mneme REQUIRED)
add_library(device STATIC device.cu)
add_mneme(device RDC)
add_executable(app main.cu)
add_mneme(app RDC)
target_link_libraries(app PRIVATE device)
add_executable(noticed main.cu device.cu)
target_compile_options(noticed PRIVATE -fgpu-rdc)
add_mneme(noticed)
PROJECT
expect 0 "$cmake" -B build -G Ninja -DCMAKE_CXX_COMPILER="$(mneme config cxx)" -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
contains out "add_mneme(noticed): compiled with -fgpu-rdc and not linked with --offload-link, which would drop its device code: added"
expect 0 "$cmake" --build build
for source in main device; do $(mneme config cxx) -g $(mneme config cxxflags --rdc) -c "$source.cu" -o "$source.o"; done
$(mneme config cxx) main.o device.o -o by_hand $(mneme config ldflags --rdc)
for device in $DEVICES; do
  for program in build/app build/noticed ./by_hand; do
    expect 0 mneme run --device "$device" -- "$program"
    contains out "rdc: PASS"
  done
done
