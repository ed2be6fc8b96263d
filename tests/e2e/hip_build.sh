# timeout: 600
# HIP programs are built recordable: by hand, with relocatable device code, and by CMake as C++ and as its language HIP. Without a GPU they
# print what they print without Mneme.
mneme config rocmdir >out 2>err || { grep -q "was built without HIP" err && skip "built without HIP"; fail "mneme config rocmdir"; }

cat >app.hip <<'SOURCE'
#include <hip/hip_runtime.h>

#include <cstdio>

__device__ int counter = 5;
__global__ void fill(float* out, float value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float tile[64];
  tile[threadIdx.x] = expf(value) + counter;
  __syncthreads();
  if (i < n) out[i] = tile[63 - threadIdx.x];
}
int part();
int main() {
  float* out = nullptr;
  std::printf("malloc: %s\n", hipGetErrorString(hipMalloc(reinterpret_cast<void**>(&out), 256)));
  fill<<<1, 64>>>(out, 1.5f, 64);
  std::printf("launch: %s\n", hipGetErrorString(hipGetLastError()));
  return part();
}
SOURCE
cat >part.hip <<'SOURCE'
#include <hip/hip_runtime.h>
__global__ void clear(int* out) { out[threadIdx.x] = 0; }
int part() {
  clear<<<1, 64>>>(nullptr);
  return 0;
}
SOURCE

cxx=$(mneme config cxx)
# Without the plugin and the call table: what all others must print.
plain=$(mneme config --hip cxxflags | sed 's/-fpass-plugin=[^ ]*//')
# shellcheck disable=SC2086
$cxx $plain app.hip part.hip -o plain -L"$(dirname "$(find "$(mneme config rocmdir)"/lib -maxdepth 2 -name libamdhip64.so | head -n 1)")" -lamdhip64
./plain >wanted

# built PROGRAM ARCHITECTURE...: it prints what it did, calls the runtime through its table, and is told from a CUDA program.
built() {
  expect 0 "$1"
  cmp out wanted || fail "$1 prints something else"
  nm "$1" | grep -q " __wrap_hipLaunchKernel" || fail "$1 calls the runtime directly"
  expect 0 mneme run --device cpu -- "$1"
  [ "$(cat out)" = "malloc: hipSuccess
launch: hipSuccess" ] || fail "$1 does not run on the CPU device"
  strings -a "$1" >text
  shift
  for architecture; do contains text "amdgcn-amd-amdhsa--$architecture"; done
}

$cxx -O2 $(mneme config --hip cxxflags) app.hip part.hip -o hand $(mneme config --hip ldflags)
built ./hand gfx90a
both=gfx90a,gfx1030
for file in app part; do $cxx -O2 $(mneme config --hip cxxflags --arch $both) -c $file.hip -o $file.o; done
$cxx app.o part.o -o steps $(mneme config --hip ldflags --arch $both)
built ./steps gfx90a gfx1030
$cxx -O2 --no-offload-new-driver $(mneme config --hip cxxflags --arch $both) app.hip part.hip -o old $(mneme config --hip ldflags --arch $both)
built ./old gfx90a gfx1030
for file in app part; do $cxx -O2 $(mneme config --hip cxxflags --rdc) -c $file.hip -o $file.o; done
$cxx app.o part.o -o relocatable $(mneme config --hip ldflags --rdc)
built ./relocatable gfx90a

cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(with_hip LANGUAGES C CXX)
find_package(mneme REQUIRED)
if(LANGUAGE_HIP)
  enable_language(HIP)
endif()
add_executable(app app.hip part.hip)
add_mneme(app ARCH "gfx90a;gfx1030")
configure_file(app.hip app.cpp COPYONLY)
configure_file(part.hip part.cpp COPYONLY)
add_executable(as_cxx ${CMAKE_CURRENT_BINARY_DIR}/app.cpp ${CMAKE_CURRENT_BINARY_DIR}/part.cpp)
add_mneme(as_cxx HIP)
# The same files once more, with other options; and a file that is HIP in one target alone.
add_executable(linked app.hip part.hip)
add_mneme(linked RDC)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/either.cpp "
#ifdef __HIP__
#include <hip/hip_runtime.h>
int main() { return hipDeviceSynchronize() == hipSuccess ? 3 : 1; }
#else
int main() { return 4; }
#endif
")
add_executable(either ${CMAKE_CURRENT_BINARY_DIR}/either.cpp)
add_executable(either_hip ${CMAKE_CURRENT_BINARY_DIR}/either.cpp)
add_mneme(either_hip HIP)
PROJECT
configure() {
  local folder=$1
  shift
  HIPFLAGS=$(mneme config --hip cxxflags) expect 0 "$cmake" -B "$folder" -G Ninja -DCMAKE_C_COMPILER="$(mneme config cc)" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)" "$@"
  expect 0 "$cmake" --build "$folder"
  built "$folder/app" gfx90a
  built "$folder/as_cxx" gfx90a
  built "$folder/linked" gfx90a
  expect 4 "$folder/either"
  expect 3 mneme run --device cpu -- "$folder/either_hip"
}
configure as-cxx
# CMake's own language. Of ROCm's package for it no more is needed here than the target that device code is linked with; Debian's asks for
# further packages.
mkdir -p rocm/lib/cmake/hip-lang
echo 'add_library(hip-lang::device INTERFACE IMPORTED)' >rocm/lib/cmake/hip-lang/hip-lang-config.cmake
configure as-hip -DLANGUAGE_HIP=ON -DCMAKE_HIP_COMPILER="$cxx" -DCMAKE_HIP_ARCHITECTURES=gfx90a -DCMAKE_HIP_COMPILER_ROCM_ROOT="$PWD/rocm"

# Programs of the unit tests are compiled with the options that `mneme config` prints, for this ROCm and for one in a folder of its own.
mkdir -p other/include/hip other/lib other/amdgcn/bitcode
touch other/include/hip/hip_runtime.h other/lib/libamdhip64.so other/amdgcn/bitcode/{ocml,oclc_abi_version_600,oclc_isa_version_90a}.bc
echo "#define HIP_VERSION_MAJOR 6" >other/include/hip/hip_version.h
cat >options.cmake <<'SCRIPT'
include(${FOLDER}/MnemeRocm.cmake)
list(JOIN MNEME_HIP_OPTIONS "\n" text)
file(WRITE options "${text}\n")
SCRIPT
of_rocm() { sed 's,^-include.*/mneme/,-include/mneme/,' "$1" | grep -E '^(--rocm|-mcode-object|-isystem|-include/)' | sort; }
for rocm in "$(mneme config rocmdir)" "$PWD/other"; do
  expect 0 "$cmake" -DMNEME_ROCM_HOME="$rocm" -DFOLDER="$CASE_FOLDER/../../cmake" -P options.cmake
  ROCM_PATH=$rocm mneme config --hip cxxflags 2>err | tr ' ' '\n' >printed
  of_rocm options >of_tests
  of_rocm printed >of_programs
  cmp of_tests of_programs || fail "in $rocm tests are compiled with $(cat of_tests), programs with $(cat of_programs)"
done
contains of_tests "-isystem$PWD/other/include"

# A ROCm that is none is one line.
ROCM_PATH=$PWD expect 2 mneme config --hip cxxflags
contains err "which is no ROCm"
