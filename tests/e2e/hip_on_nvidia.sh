# HIP programs that are built for NVIDIA GPUs (HIP's headers over CUDA) are CUDA programs: they run, and are recorded and replayed, where these
# are, and one source has the same recording whichever of the two it is compiled as.
# timeout: 600
mneme config --hip --platform nvidia rocmdir >out 2>err || { grep -q "finding HIP's headers" err && skip "no headers of HIP"; fail "mneme config rocmdir"; }
programs=$CASE_FOLDER/programs
cxx=$(mneme config cxx)
compile_flags=$(mneme config --hip --platform nvidia cxxflags)
link_flags=$(mneme config --hip --platform nvidia ldflags)
# build SOURCE OUTPUT [ARG...]
build() {
  local source=$1 output=$2
  shift 2
  # shellcheck disable=SC2086  # the flags are meant to be split
  $cxx -O2 -std=c++17 $compile_flags "$@" -x cuda "$source" -x none -o "$output" $link_flags
}

# What is recorded of it is what is recorded of the CUDA program: the same kernels and launches with the same code, memory and addresses.
cat >compare.py <<'PYTHON'
import json, pathlib, subprocess, sys
def same(value):
    """Without times."""
    if isinstance(value, dict):
        return {key: same(each) for key, each in value.items() if key not in ("recorded_at", "total")}
    return [same(each) for each in value] if isinstance(value, list) else value
def shown(kernel):
    return same(json.loads(subprocess.run(["mneme", "show", "--json", kernel], stdout=subprocess.PIPE, check=True).stdout))
def files(folder, pattern):
    return {path.name: path for path in pathlib.Path(folder).glob(pattern)}
for pattern in ("[0-9a-f]*.json", "DeviceState.*"):  # named by the static and the dynamic hash
    cuda, hip = (files(folder, pattern) for folder in sys.argv[1:])
    assert cuda and cuda.keys() == hip.keys(), f"in one of them alone: {sorted(cuda.keys() ^ hip.keys())}"
for name, kernel in files(sys.argv[1], "[0-9a-f]*.json").items():
    assert shown(kernel) == shown(pathlib.Path(sys.argv[2]) / name), f"{name}: {shown(kernel)} is something else as HIP"
PYTHON
for example in vecadd cg stencil reduction; do
  source=$EXAMPLES/$example/$example.cu
  build "$source" "$example" -include "$programs/as_hip/as_hip.h"
  compile "$source" "$example-cuda"
  for device in $DEVICES; do
    expect 0 mneme run --device "$device" -- "./$example"
    mv out bare
    contains bare "$example: PASS"
    expect 0 mneme record -rdb "$example-$device" --device "$device" --max 1 -- "./$example"
    cmp -s out bare || fail "the output of $example differs when it is recorded on $device"
    expect 0 mneme record -rdb "$example-$device-cuda" --device "$device" --max 1 -- "./$example-cuda"
    expect 0 python3 compare.py "$example-$device-cuda" "$example-$device"
    for kernel in "$example-$device"/[0-9a-f]*.json; do
      expect 0 mneme replay -rdb "$kernel" --device "$device" --iterations 3
      [ "$(json out 'd["result"]["verified"], d["result"]["failed"], len(d["result"]["exec_time"])')" = "(True, False, 3)" ] ||
        fail "$example: $kernel is not verified on $device"
    done
  done
done
expect 0 mneme show --json vecadd-cpu add
[ "$(json out 'd["target"], d["arch"]')" = "('nvptx', 'sm_90')" ] || fail "what it was recorded for"

# What HIP's headers call and newer versions of CUDA have no more or have otherwise does what HIP's documentation says.
build "$programs/hip_nvidia_api.cu" api -Wall -Wextra -Werror -Wno-deprecated-declarations
expect 0 mneme run --device cpu -- ./api
[ "$(cat out)" = done ] || fail "calls gave something else"

# By CMake: .hip files, .cpp files that are HIP, and a file that only calls HIP's runtime.
cat >part.hip <<'SOURCE'
#include <hip/hip_runtime.h>
__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
void fill_on_device(int* out) { hipLaunchKernelGGL(fill, dim3(1), dim3(64), 0, 0, out, 7); }
SOURCE
cat >main.cpp <<'SOURCE'
#include <hip/hip_runtime_api.h>
#include <cstdio>
void fill_on_device(int* out);
int main() {
  int *out = nullptr, host[64] = {};
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, 0) || hipMalloc(reinterpret_cast<void**>(&out), sizeof host)) return 1;
  fill_on_device(out);
  if (hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost)) return 1;
  std::printf("%d %d\n", host[0], host[63]);
}
SOURCE
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(with_hip LANGUAGES C CXX)
find_package(mneme REQUIRED)
add_executable(app part.hip main.cpp)
add_mneme(app PLATFORM ${PLATFORM} ARCH sm_80)
foreach(file part.hip main.cpp)
  configure_file(${file} linked_${file} COPYONLY)
endforeach()
configure_file(part.hip part.cpp COPYONLY)
configure_file(main.cpp all.cpp COPYONLY)
add_executable(as_cxx ${CMAKE_CURRENT_BINARY_DIR}/part.cpp ${CMAKE_CURRENT_BINARY_DIR}/all.cpp)
add_mneme(as_cxx HIP PLATFORM nvidia)
add_executable(linked ${CMAKE_CURRENT_BINARY_DIR}/linked_part.hip ${CMAKE_CURRENT_BINARY_DIR}/linked_main.cpp)
add_mneme(linked RDC PLATFORM nvidia)
PROJECT
configure() {
  "$cmake" -B built -G Ninja -DCMAKE_C_COMPILER="$(mneme config cc)" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)" "$@"
}
expect 0 configure -DPLATFORM=nvidia
expect 0 "$cmake" --build built
for program in app as_cxx linked; do
  expect 0 mneme record -rdb "db-$program" --device cpu -- "built/$program"
  contains out "7 7"
  expect 0 mneme replay "db-$program" fill --device cpu --iterations 1
done
expect 1 configure -DPLATFORM=intel
contains err "add_mneme(app): HIP has no platform intel: PLATFORM amd or PLATFORM nvidia"

# What is asked for wrongly is one line.
expect 64 mneme config --platform nvidia cxxflags
contains err "--platform is of HIP programs: add --hip"
expect 64 mneme config --hip --platform nvidia --arch gfx90a cxxflags
contains err "--arch: 'gfx90a' is no GPU architecture from sm_75 to sm_121, as sm_90 is"
HIP_PLATFORM=intel expect 64 mneme config --hip cxxflags
contains err "HIP_PLATFORM: 'intel' is no platform of HIP: set amd or nvidia, or unset it"
[ "$(HIP_PLATFORM=nvidia MNEME_ARCH=gfx90a mneme config --hip cxxflags)" = "$compile_flags" ] || fail "HIP_PLATFORM is not read"
ROCM_PATH=$PWD expect 2 mneme config --hip --platform nvidia cxxflags
contains err "which has no headers of HIP for NVIDIA GPUs"
