# Device code in another file: by CMake and by hand; and what is said when --offload-link is missing.
cp "$CASE_FOLDER"/programs/two_files/*.cu .
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

# Static variables of equal names in two files of equal names: replay could not tell them apart, so the kernel is not recorded.
mkdir -p one two
cat >one/part.cu <<'SOURCE1'
static __device__ int state = 3;
__device__ int one() { return atomicAdd(&state, 1); }
SOURCE1
cat >two/part.cu <<'SOURCE2'
static __device__ int state = 30;
__device__ int two() { return atomicAdd(&state, 2); }
SOURCE2
cat >both.cu <<'SOURCE3'
#include <cstdio>
__device__ int one();
__device__ int two();
__global__ void both(int* out) { *out = one() + two(); }
int main() {
  int *device, host = 0;
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 2;
  both<<<1, 1>>>(device);
  if (cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  std::printf("both %d\n", host);
}
SOURCE3
for source in one/part two/part both; do $(mneme config cxx) $(mneme config cxxflags --rdc) -c "$source.cu" -o "${source//\//_}.o"; done
$(mneme config cxx) both.o one_part.o two_part.o -o both $(mneme config ldflags --rdc)
for device in $DEVICES; do
  expect 0 mneme record -rdb "both-$device" --device "$device" -- ./both
  contains out "both 33"
  contains err "two files of the same name have a static variable"
  contains err "not recorded: 1 launch: two files of the same name"
done
